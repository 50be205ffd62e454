#include "cli/events/dead_letter_resender.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "cli/shared/time_option.h"

namespace walpost {
namespace {

using Action = DeadLetterResolution::Action;

// Limits of a transaction.
constexpr size_t kMaxLetters = 200;
constexpr size_t kMaxBytes = size_t{4} << 20;

// The letter alone is the cause, and others may go on.
bool ConcernsLetter(const absl::Status& status) {
  return absl::IsInvalidArgument(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeadLetterResender>> DeadLetterResender::Create(
    const Config& config, const DeadLetterResolution& decision,
    TransactionalWriter* writer) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(config.outbox));
  RecordMark mark;
  mark.header = "walpost-retried";
  mark.value = FormatTime(decision.at);
  mark.without_position = true;
  builder->SetMark(std::move(mark));
  return std::unique_ptr<DeadLetterResender>(
      new DeadLetterResender(config, decision, writer, std::move(builder)));
}

DeadLetterResender::DeadLetterResender(const Config& config,
                                       const DeadLetterResolution& decision,
                                       TransactionalWriter* writer,
                                       std::unique_ptr<RecordBuilder> builder)
    : decision_(decision),
      writer_(writer),
      builder_(std::move(builder)),
      event_(config.outbox, builder_->routes()) {}

absl::Status DeadLetterResender::Take(const LetterPlace& place,
                                      DeadLetter letter) {
  if (decision_.action == Action::kRetried) {
    const absl::Status built = Build(letter).status();
    if (!built.ok()) {
      failed_.push_back({place, built});
      return absl::OkStatus();
    }
  }
  waiting_bytes_ += letter.payload ? letter.payload->size() : 0;
  waiting_.push_back({place, std::move(letter)});
  const bool is_full =
      waiting_.size() == kMaxLetters || waiting_bytes_ >= kMaxBytes;
  return is_full ? Finish() : absl::OkStatus();
}

absl::Status DeadLetterResender::Finish() {
  std::vector<Letter> letters = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  if (writer_ == nullptr) {
    settled_ += letters.size();
    return absl::OkStatus();
  }
  while (!letters.empty()) {
    const absl::Status settled = Settle(letters);
    if (settled.ok()) return settled;
    if (ConcernsLetter(settled)) break;
    if (!GiveUpTopic(letters, settled)) return settled;
  }
  for (const Letter& letter : letters) {
    WALPOST_RETURN_IF_ERROR(SettleOne(letter));
  }
  return absl::OkStatus();
}

absl::Status DeadLetterResender::SettleOne(const Letter& letter) {
  const absl::Status settled = Settle({&letter, 1});
  if (settled.ok()) return settled;
  std::vector<Letter> letters{letter};
  if (!ConcernsLetter(settled)) {
    return GiveUpTopic(letters, settled) ? absl::OkStatus() : settled;
  }
  failed_.push_back({letter.place, settled});
  return absl::OkStatus();
}

absl::Status DeadLetterResender::Settle(std::span<const Letter> letters) {
  topic_at_fault_.clear();
  WALPOST_RETURN_IF_ERROR(writer_->Begin());
  absl::Status status = WriteAll(letters);
  if (status.ok()) status = writer_->Commit();
  if (status.ok()) {
    settled_ += letters.size();
    return status;
  }
  if (absl::IsAborted(status)) return status;
  const std::string topic = writer_->failed_topic();
  // The cause says more than that its transaction cannot be ended, either.
  const absl::Status aborted = writer_->Abort();
  if (aborted.ok()) topic_at_fault_ = topic;
  return aborted.ok() || !ConcernsLetter(status) ? status : aborted;
}

// Takes out the letters whose events go to the topic at fault. False: there is
// none, for the brokers do not answer, or it is that of the letters.
bool DeadLetterResender::GiveUpTopic(std::vector<Letter>& letters,
                                     const absl::Status& reason) {
  if (topic_at_fault_.empty() || decision_.action != Action::kRetried) {
    return false;
  }
  const auto goes_there = [this](const Letter& letter) {
    const absl::StatusOr<Record> record = Build(letter.content);
    return record.ok() && record->topic == topic_at_fault_;
  };
  const auto rest = std::ranges::stable_partition(letters, goes_there);
  for (const Letter& letter : std::span(letters.begin(), rest.begin())) {
    failed_.push_back({letter.place, reason});
  }
  const bool any = rest.begin() != letters.begin();
  letters.erase(letters.begin(), rest.begin());
  return any;
}

absl::Status DeadLetterResender::WriteAll(std::span<const Letter> letters) {
  for (const Letter& letter : letters) WALPOST_RETURN_IF_ERROR(Write(letter));
  return absl::OkStatus();
}

absl::Status DeadLetterResender::Write(const Letter& letter) {
  const DeadLetter& content = letter.content;
  if (decision_.action == Action::kRetried) {
    WALPOST_ASSIGN_OR_RETURN(const Record record, Build(content));
    WALPOST_RETURN_IF_ERROR(writer_->Write(record, std::nullopt));
  }
  DeadLetterResolution decision = decision_;
  decision.offset = letter.place.offset;
  const DeadLetterResolutionRecord on_record(
      decision, letter.place.topic,
      content.aggregate_id ? Value(*content.aggregate_id) : std::nullopt,
      content.id ? Value(*content.id) : std::nullopt);
  return writer_->Write(on_record.record(), letter.place.partition);
}

// Valid until the next one.
absl::StatusOr<Record> DeadLetterResender::Build(const DeadLetter& letter) {
  WALPOST_ASSIGN_OR_RETURN(const Event event, event_.Of(letter));
  return builder_->Build(event, event_.timeline());
}

}  // namespace walpost
