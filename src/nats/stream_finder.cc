#include "nats/stream_finder.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "nats/json_document.h"
#include "nats/stream_request.h"
#include "nats/subject.h"

namespace walpost {

using Kind = StreamQuestion::Kind;

absl::StatusOr<const StreamInfo*> StreamFinder::Find(std::string_view subject) {
  if (!awaited_.empty()) {
    return absl::ResourceExhaustedError(
        "the streams are not known yet to be those that have the events so "
        "far");
  }
  for (const auto& [name, info] : streams_) {
    if (!info.Takes(subject)) continue;
    WALPOST_RETURN_IF_ERROR(info.CheckUsable());
    if (!known_.replaced().empty()) {
      return absl::ResourceExhaustedError("a stream was replaced");
    }
    return &info;
  }
  const auto found = subjects_.find(subject);
  if (found == subjects_.end()) {
    AskAboutSubject(subject);
  } else if (!found->second.why_not.empty()) {
    if (!found->second.is_missing) {
      return absl::DeadlineExceededError(found->second.why_not);
    }
    missing_subject_ = subject;
    return absl::UnavailableError(found->second.why_not);
  }
  return absl::ResourceExhaustedError(
      fmt::format("the stream of subject {} is being looked for", subject));
}

void StreamFinder::AskAboutSubject(std::string_view subject) {
  if (subjects_.size() >= kMaxSubjects) subjects_.clear();
  subjects_.emplace(subject, Subject());
  Ask(Kind::kNames, std::string(subject), StreamNamesBody(subject));
}

void StreamFinder::Expect() {
  for (const std::string& name : known_.names()) {
    if (awaited_.insert(name).second) Ask(Kind::kInfo, name);
  }
}

void StreamFinder::Ask(Kind kind, std::string about, std::string body) {
  const uint64_t up_to =
      kind == Kind::kInfo ? known_.AcknowledgedUpTo(about) : 0;
  questions_.push_back({kind, std::move(about), std::move(body), up_to});
}

std::vector<StreamQuestion> StreamFinder::TakeQuestions() {
  return std::exchange(questions_, {});
}

void StreamFinder::OnTick(MonotonicTime now) {
  for (auto& [subject, state] : subjects_) {
    if (state.is_asking) continue;
    state.is_asking = true;
    Ask(Kind::kNames, subject, StreamNamesBody(subject));
  }
  if (now - asked_at_ < kAskAgainAfter) return;
  asked_at_ = now;
  if (streams_.empty()) return Ask(Kind::kAccount, "");
  auto next = streams_.upper_bound(asked_about_);
  if (next == streams_.end()) next = streams_.begin();
  asked_about_ = next->first;
  Ask(Kind::kInfo, asked_about_);
}

void StreamFinder::OnAnswer(const StreamQuestion& question,
                            std::string_view json, MonotonicTime now) {
  const JetStreamError error = JsonDocument(json).error();
  trouble_.clear();
  switch (question.kind) {
    case Kind::kNames:
      if (error.is_error()) return OnNoAnswer(question, error.description);
      return OnNames(question.about, json);
    case Kind::kInfo:
      return OnInfo(question, json, now);
    case Kind::kCreate:
      refusal_ = error.description;
      if (!error.is_error()) {
        return OnStream(ParseStreamInfo(json), question, now);
      }
      NoteWhyNot(question.about, ExplainCreation(error, question.about))
          .is_missing = true;
      return;
    case Kind::kAccount:
      if (error.is_error()) OnNoAnswer(question, error.description);
      return;
  }
}

void StreamFinder::OnNames(const std::string& subject, std::string_view json) {
  const std::vector<std::string> names =
      JsonDocument(json).root().Texts("streams");
  if (names.empty()) return OnMissing(subject);
  for (const std::string& name : names) Ask(Kind::kInfo, name);
}

void StreamFinder::OnMissing(const std::string& subject) {
  if (creation_) {
    const auto takes = [&subject](const std::string& filter) {
      return SubjectMatches(filter, subject);
    };
    if (std::ranges::any_of(creation_->subjects, takes)) {
      return Ask(Kind::kCreate, subject, CreateStreamBody(*creation_));
    }
  }
  std::string why = fmt::format(
      "no stream of JetStream takes subject {}: add it to the subjects of a "
      "stream, make a stream (walpost check -c FILE prints the command), or "
      "let "
      "walpost do it (nats.create_stream)",
      subject);
  NoteWhyNot(subject, std::move(why)).is_missing = true;
}

void StreamFinder::OnInfo(const StreamQuestion& question, std::string_view json,
                          MonotonicTime now) {
  const JetStreamError error = JsonDocument(json).error();
  if (!error.is_error()) return OnStream(ParseStreamInfo(json), question, now);
  if (error.err_code != kStreamNotFound) {
    return OnNoAnswer(question, error.description);
  }
  streams_.erase(question.about);
  awaited_.erase(question.about);
  if (known_.Knows(question.about)) gone_.insert(question.about);
}

void StreamFinder::OnStream(StreamInfo info, const StreamQuestion& question,
                            MonotonicTime now) {
  if (info.name.empty()) return OnNoAnswer(question, "the answer is damaged");
  if (info.has_older_messages &&
      info.last_sequence >= question.acknowledged_up_to) {
    known_.Redate(info.name, info.created);
  }
  const bool is_same = known_.Observe(info.name, info.created);
  known_.ObserveEnd(info.name, info.last_sequence, question.acknowledged_up_to,
                    now);
  awaited_.erase(info.name);
  gone_.erase(info.name);
  if (is_same && !known_.Knows(info.name) && !gone_.empty()) {
    known_.ObserveMissing(*gone_.begin(), info.name);
  }
  std::erase_if(subjects_, [this, &info](const auto& subject) {
    const bool is_taken = info.Takes(subject.first);
    if (is_taken && missing_subject_ == subject.first) missing_subject_.clear();
    return is_taken;
  });
  std::string name = info.name;
  if (info.is_in_memory && !streams_.contains(name)) {
    warning_ = fmt::format(
        "stream {} is kept in memory: acknowledged events are lost when its "
        "servers stop (walpost check -c FILE)",
        name);
  }
  streams_.insert_or_assign(std::move(name), std::move(info));
}

void StreamFinder::OnNoAnswer(const StreamQuestion& question,
                              std::string_view why) {
  switch (question.kind) {
    case Kind::kNames:
    case Kind::kCreate:
      trouble_ = fmt::format("JetStream does not say which stream takes {}: {}",
                             question.about, why);
      NoteWhyNot(question.about, trouble_);
      return;
    case Kind::kInfo:
      trouble_ = fmt::format(
          "stream {} does not answer: {}; are most of its servers up?",
          question.about, why);
      // Asked again until it answers.
      if (awaited_.contains(question.about)) Ask(Kind::kInfo, question.about);
      for (auto& [subject, state] : subjects_) {
        if (state.is_asking) NoteWhyNot(subject, trouble_);
      }
      return;
    case Kind::kAccount:
      trouble_ = fmt::format("JetStream does not answer: {}", why);
      return;
  }
}

StreamFinder::Subject& StreamFinder::NoteWhyNot(const std::string& subject,
                                                std::string why) {
  Subject& state = subjects_[subject];
  state = {.is_asking = false, .why_not = std::move(why)};
  return state;
}

std::string StreamFinder::ExplainCreation(const JetStreamError& error,
                                          const std::string& subject) const {
  const std::string attempted =
      fmt::format("creating stream {} for {}", creation_->name, subject);
  return std::string(StatusFromJetStream(error, attempted).message());
}

void StreamFinder::OnAcknowledged(std::string_view stream, uint64_t sequence) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  known_.OnAcknowledged(stream, found->second.created, sequence);
}

}  // namespace walpost
