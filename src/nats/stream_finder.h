// StreamFinder: finds the stream that takes a subject, and checks that it is
// usable, and the one that has the events so far.
//
//   Find(subject) ──▶ STREAM.NAMES {subject} ──▶ STREAM.INFO ──▶ the stream
//                             └─ none ──▶ STREAM.CREATE (nats.create_stream)
//
// Asks about each known stream again and again, which also shows that
// JetStream answers.
//
// Pure: the sink sends the questions, and tells the answers and the time. One
// per sink, which owns it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "nats/jetstream_error.h"
#include "nats/known_streams.h"
#include "nats/options.h"
#include "nats/stream_info.h"

namespace walpost {

// A request to the API of JetStream.
struct StreamQuestion {
  enum class Kind { kNames, kInfo, kCreate, kAccount };
  Kind kind;
  std::string about;  // a subject (kNames, kCreate), a stream (kInfo)
  std::string body = {};
  // Sequence of the stream, when the question was asked.
  uint64_t acknowledged_up_to = 0;
};

class StreamFinder {
 public:
  // `known` outlives it.
  StreamFinder(KnownStreams& known, std::optional<NatsStreamCreation> creation)
      : known_(known), creation_(std::move(creation)) {}

  // Valid until the next call of a function that is not const.
  //
  // kResourceExhausted: not known yet. kUnavailable: no stream takes the
  // subject, or it has no leader. kFailedPrecondition: StreamInfo::CheckUsable.
  absl::StatusOr<const StreamInfo*> Find(std::string_view subject);

  // Holds all records until the known streams are seen to be the same.
  void Expect();
  bool is_comparing() const { return !awaited_.empty(); }

  // The questions that are due: send them.
  std::vector<StreamQuestion> TakeQuestions();
  // Call it about once a second.
  void OnTick(MonotonicTime now);
  void OnAnswer(const StreamQuestion& question, std::string_view json,
                MonotonicTime now);
  // No answer; `why` for people.
  void OnNoAnswer(const StreamQuestion& question, std::string_view why);

  void OnAcknowledged(std::string_view stream, uint64_t sequence);

  // A subject that records wait for because no stream takes it; or empty.
  const std::string& missing_subject() const { return missing_subject_; }
  // Why the stream was not created, in the words of the server; or empty.
  const std::string& refusal() const { return refusal_; }
  // Why JetStream does not answer; or empty.
  const std::string& trouble() const { return trouble_; }
  size_t streams() const { return streams_.size(); }
  // What an operator should know about a stream that was found since the last
  // call; or empty.
  std::string TakeWarning() { return std::exchange(warning_, ""); }

 private:
  static constexpr std::chrono::seconds kAskAgainAfter{3};
  static constexpr size_t kMaxSubjects = 1'000;

  struct Subject {
    bool is_asking = true;
    bool is_missing = false;
    std::string why_not = {};  // no stream may take it; empty: not known yet
  };

  void Ask(StreamQuestion::Kind kind, std::string about, std::string body = {});
  void AskAboutSubject(std::string_view subject);
  void OnNames(const std::string& subject, std::string_view json);
  void OnInfo(const StreamQuestion& question, std::string_view json,
              MonotonicTime now);
  void OnStream(StreamInfo info, const StreamQuestion& question,
                MonotonicTime now);
  void OnMissing(const std::string& subject);
  Subject& NoteWhyNot(const std::string& subject, std::string why);
  std::string ExplainCreation(const JetStreamError& error,
                              const std::string& subject) const;

  KnownStreams& known_;
  std::optional<NatsStreamCreation> creation_;
  std::map<std::string, StreamInfo, std::less<>> streams_;
  std::map<std::string, Subject, std::less<>> subjects_;  // without a stream
  std::set<std::string, std::less<>> awaited_;            // known, not seen yet
  std::set<std::string, std::less<>> gone_;  // known, and do not exist
  std::vector<StreamQuestion> questions_;
  MonotonicTime asked_at_{};
  std::string asked_about_;  // the stream of the last regular question
  std::string missing_subject_;
  std::string refusal_;
  std::string trouble_;
  std::string warning_;
};

}  // namespace walpost
