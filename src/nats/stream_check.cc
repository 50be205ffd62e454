#include "nats/stream_check.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "nats/stream_request.h"
#include "nats/subject.h"

namespace walpost {
namespace {

constexpr int kSafeReplicas = 3;
// A re-send comes after a time-out, an election and a new connection.
constexpr std::chrono::seconds kMinDuplicateWindow{30};

class StreamCheck {
 public:
  StreamCheck(const StreamInfo& stream, const NatsOptions& options)
      : stream_(stream), options_(options) {}

  Findings Run() {
    const absl::Status usable = stream_.CheckUsable();
    if (!usable.ok()) {
      Add(Severity::kError, FindingId("stream_unusable"),
          std::string(usable.message()),
          stream_.acknowledges ? "" : Edit("--ack"));
      return std::move(findings_);
    }
    CheckDurability();
    CheckWindow();
    CheckLimits();
    if (findings_.empty()) {
      Add(Severity::kOk, FindingId("stream_ready"),
          fmt::format("takes {}, on disk, {} replicas",
                      absl::StrJoin(stream_.subjects, ", "), stream_.replicas));
    }
    return std::move(findings_);
  }

 private:
  void Add(Severity severity, FindingId id, std::string text,
           std::string remedy = "") {
    findings_.push_back({severity, std::move(id),
                         fmt::format("stream {}", stream_.name),
                         std::move(text), std::move(remedy)});
  }

  std::string Edit(std::string_view what) const {
    return fmt::format("{} stream edit {} {} --force", NatsProgram(options_),
                       stream_.name, what);
  }

  void CheckDurability() {
    if (stream_.is_in_memory) {
      Add(Severity::kWarning, FindingId("stream_in_memory"),
          "is kept in memory: acknowledged events are lost when its servers "
          "stop. The storage of a stream cannot be changed: make another one "
          "with --storage file, before walpost publishes to it");
    }
    if (stream_.replicas < kSafeReplicas) {
      Add(Severity::kWarning, FindingId("stream_few_replicas"),
          fmt::format("has {} replica{}: acknowledged events are lost with the "
                      "disk of {} server",
                      stream_.replicas, stream_.replicas == 1 ? "" : "s",
                      stream_.replicas == 1 ? "its" : "one"),
          stream_.is_clustered
              ? Edit("--replicas=3")
              : "run three servers of NATS as a cluster, and then: " +
                    Edit("--replicas=3"));
    }
  }

  void CheckWindow() {
    if (stream_.duplicate_window >= kMinDuplicateWindow) return;
    const auto window = std::chrono::duration_cast<std::chrono::milliseconds>(
        stream_.duplicate_window);
    Add(Severity::kWarning, FindingId("stream_duplicate_window_short"),
        fmt::format("remembers messages for {} ms (duplicate window): a later "
                    "re-send is stored a second time",
                    window.count()),
        Edit("--dupe-window=2m"));
  }

  void CheckLimits() {
    if (stream_.retention == "interest" || stream_.retention == "workqueue") {
      Add(Severity::kWarning, FindingId("stream_drops_unwanted"),
          fmt::format("has retention: {}, so that a message is gone once no "
                      "consumer waits for it: without a consumer, at once",
                      stream_.retention));
    }
    const bool has_limit = stream_.max_messages > 0 || stream_.max_bytes > 0;
    if (!has_limit) return;
    if (!stream_.discards_new) {
      return Add(Severity::kNote, FindingId("stream_drops_oldest"),
                 "drops its oldest messages when it is full (discard: old), "
                 "consumed or not");
    }
    Add(Severity::kNote, FindingId("stream_may_become_full"),
        "rejects new messages when it is full (discard: new): walpost then "
        "waits, and WAL is kept, until there is room");
  }

  const StreamInfo& stream_;
  const NatsOptions& options_;
  Findings findings_;
};

std::string Name(const NatsSubjects& subjects) {
  return subjects.is_whole ? fmt::format("subject {}", subjects.text)
                           : fmt::format("subjects {}*", subjects.text);
}

std::vector<std::string> Joined(std::vector<std::string> subjects,
                                const std::vector<std::string>& more) {
  for (const std::string& subject : more) {
    if (std::ranges::find(subjects, subject) == subjects.end()) {
      subjects.push_back(subject);
    }
  }
  return subjects;
}

// About subjects that no stream takes.
class MissingStreamCheck {
 public:
  MissingStreamCheck(const NatsSubjects& subjects, const NatsOptions& options,
                     const NatsSurroundings& around)
      : subjects_(subjects), options_(options), around_(around) {}

  Finding Run() const {
    if (!IsCreated()) return Missing();
    const NatsStreamCreation& creation = *options_.create_stream;
    if (!around_.named) {
      return {Severity::kOk, FindingId("stream_will_be_created"),
              Name(subjects_),
              fmt::format("no stream takes them yet: walpost creates stream {}",
                          creation.name),
              ""};
    }
    return {SeverityOfNone(), FindingId("stream_lacks_subjects"),
            Name(subjects_),
            fmt::format("no stream takes them: stream {} exists, without all "
                        "of nats.create_stream.subjects, and walpost changes "
                        "no stream",
                        creation.name),
            EditSubjectsCommand(
                options_, creation.name,
                Joined(around_.named->subjects, creation.subjects))};
  }

 private:
  bool IsCreated() const {
    if (!options_.create_stream) return false;
    return std::ranges::any_of(
        options_.create_stream->subjects, [this](const std::string& filter) {
          return FiltersOverlap(filter, subjects_.filter());
        });
  }

  bool AreLetters() const { return subjects_.use != Use::kEvents; }
  Severity SeverityOfNone() const {
    return subjects_.use == Use::kPossibleLetters ? Severity::kNote
                                                  : Severity::kError;
  }

  Finding Missing() const {
    std::string_view text =
        "no stream of JetStream takes them, so no event is published; or set "
        "nats.create_stream";
    if (subjects_.use == Use::kLetters) {
      text =
          "no stream of JetStream takes it, and on_error sends dead letters "
          "there: the flow would stop before them";
    } else if (subjects_.use == Use::kPossibleLetters) {
      text =
          "no stream of JetStream takes it. Dead letters (on_error: "
          "dead_letter, walpost dead-letter -c FILE) go there, unless "
          "dead_letter.store is postgres";
    }
    return {SeverityOfNone(), FindingId("stream_missing"), Name(subjects_),
            std::string(text), Remedy()};
  }

  std::string Remedy() const {
    const std::string filter = subjects_.filter();
    if (!AreLetters()) {
      return MakeStreamCommand(options_, "OUTBOX", filter,
                               around_.is_clustered);
    }
    if (around_.of_events) {
      return EditSubjectsCommand(options_, around_.of_events->name,
                                 Joined(around_.of_events->subjects, {filter}));
    }
    if (options_.create_stream && !around_.named) {
      return fmt::format("add {} to nats.create_stream.subjects", filter);
    }
    return MakeStreamCommand(options_, "DEAD_LETTERS", filter,
                             around_.is_clustered);
  }

  using Use = NatsSubjects::Use;
  const NatsSubjects& subjects_;
  const NatsOptions& options_;
  const NatsSurroundings& around_;
};

}  // namespace

std::string NatsSubjects::filter() const {
  if (is_whole) return text;
  // The last token of the prefix may go on.
  const size_t dot = text.rfind('.');
  return dot == std::string::npos ? ">" : text.substr(0, dot + 1) + ">";
}

Findings CheckStreams(const NatsSubjects& subjects,
                      const std::vector<StreamInfo>& streams,
                      const NatsOptions& options,
                      const NatsSurroundings& around) {
  Findings findings;
  if (streams.empty()) {
    findings.push_back(MissingStreamCheck(subjects, options, around).Run());
  }
  for (const StreamInfo& stream : streams) {
    for (Finding& finding : StreamCheck(stream, options).Run()) {
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace walpost
