#include "checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <utility>

#include "base/reason_code.h"
#include "checkpoint/coverage.h"
#include "fmt/format.h"

namespace walpost {
namespace {

TransactionBatcher::Flight FlightOf(const AcknowledgementWindow& window) {
  using Flight = TransactionBatcher::Flight;
  if (window.empty()) return Flight::kNone;
  return window.IsBusy() ? Flight::kBusy : Flight::kSome;
}

}  // namespace

void CheckpointWriter::Begin(Checkpoint saved) {
  saved_ = std::move(saved);
  kafka_cluster_ = saved_.kafka_cluster;
  kafka_topics_ = saved_.kafka_topics;
  ++generation_;
  status_ = absl::OkStatus();
  failing_since_.reset();
  committed_ = CurrentProgress();
  horizon_.Begin();
  if (batcher_ != nullptr) batcher_->Begin();
  begun_ = true;
}

void CheckpointWriter::SaveIfDue(MonotonicTime now, WallTime wall_now,
                                 bool hurry) {
  if (store_ == nullptr || !begun_ || busy_ || !store_->is_ready()) return;
  if (!IsDue(now, hurry)) return;
  if (batcher_ != nullptr && batcher_->is_stopped()) {
    status_ = TransactionTooLarge();
    return on_saved_();
  }
  // A commit has no part of what is still in flight.
  if (batcher_ != nullptr && !batcher_->Close(!progress_.IsDrained())) return;
  Save(now, wall_now);
}

absl::Status CheckpointWriter::TransactionTooLarge() const {
  const absl::Status status = absl::FailedPreconditionError(fmt::format(
      "the transaction of Postgres behind {} is too large for a Kafka "
      "transaction: it has {} records and {} bytes so far, and "
      "delivery.on_large_transaction is stop. Raise "
      "delivery.max_transaction_records, .max_transaction_bytes or "
      ".transaction_timeout, or set it to split, and restart walpost",
      ToString(saved_.position), batcher_->records(), batcher_->bytes()));
  // Another attempt would end in the same way.
  return batcher_->IsTooLarge()
             ? WithReasonCode(status, kReasonTransactionTooLarge)
             : status;
}

bool CheckpointWriter::IsDue(MonotonicTime now, bool hurry) {
  if (batcher_ != nullptr &&
      (batcher_->has_records() || batcher_->is_closed())) {
    return batcher_->IsDue(FlightOf(progress_.sender().window()), now) || hurry;
  }
  const bool idle = NextPosition() == saved_.position && !knows_more();
  const bool repeats = idle && progress_.confirmed() == saved_.confirmed;
  const bool first = !saved_.confirmed.is_valid();
  if (repeats && (first || !store_->needs_repeating())) return false;
  std::chrono::milliseconds wait = idle ? kIdleInterval : interval_;
  if (hurry || first) wait = std::chrono::milliseconds(0);
  if (repeats) wait = kRepeatInterval;
  if (!status_.ok()) wait = kRetryInterval;
  return now >= tried_at_ + wait;
}

void CheckpointWriter::Save(MonotonicTime now, WallTime wall_now) {
  tried_at_ = now;
  saving_ = saved_;
  // Not that of the last checkpoint, if it is further: a server that was
  // restored since may have other events before it.
  saving_.confirmed = progress_.confirmed();
  saving_.position = NextPosition();
  saving_.kafka_cluster = kafka_cluster_;
  saving_.kafka_topics = kafka_topics_;
  if (saving_.position != saved_.position) {
    saving_.commit_xid = progress_.acknowledged().xid;
    saving_.commit_time = progress_.acknowledged().commit_time;
  }
  if (passed_over_ != nullptr) {
    saving_passed_over_ = passed_over_->pending();
    saving_.coverage = WithPassedOver(saved_.coverage, saving_passed_over_);
  }
  saving_.written_at = wall_now;
  saving_.horizon = horizon_.Take(saving_.confirmed).value_or(saved_.horizon);
  committing_ = CurrentProgress();
  busy_ = true;
  const auto on_saved = [this, generation = generation_](absl::Status status) {
    OnSaved(generation, status);
  };
  store_->Save(Checkpoint(saving_), on_saved);
}

bool CheckpointWriter::must_end() const {
  return batcher_ == nullptr ? absl::IsAborted(status_) : !status_.ok();
}

Position CheckpointWriter::settled_through() const {
  if (batcher_ == nullptr) return progress_.settled_through();
  return committed_.settled_through;
}

Lsn CheckpointWriter::confirmable() const {
  if (batcher_ != nullptr)
    return std::min(committed_.confirmed, saved_.confirmed);
  const Lsn confirmed = progress_.confirmed();
  return store_ == nullptr ? confirmed : std::min(saved_.confirmed, confirmed);
}

void CheckpointWriter::OnSaved(uint64_t generation,
                               const absl::Status& status) {
  busy_ = false;
  if (generation != generation_) return;
  status_ = status;
  if (status.ok()) {
    saved_ = saving_;
    failing_since_.reset();
    committed_ = committing_;
    if (passed_over_ != nullptr) passed_over_->OnRecorded(saving_passed_over_);
    if (batcher_ != nullptr) batcher_->OnCommitted();
  } else if (!failing_since_) {
    failing_since_ = tried_at_;
  }
  on_saved_();
}

}  // namespace walpost
