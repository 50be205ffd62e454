#include "delivery/transaction_batcher.h"

namespace walpost {

void TransactionBatcher::Begin() {
  Abandon();
  OnBoundary();
  is_stopped_ = false;
}

bool TransactionBatcher::Abandon() {
  const bool had_records = records_ > 0;
  if (had_records) limit_ = 1;
  StartOver();
  return had_records;
}

void TransactionBatcher::OnWithdrawn() {
  ++withdrawn_;
  StartOver();
}

void TransactionBatcher::StartOver() {
  records_ = 0;
  bytes_ = 0;
  begun_at_.reset();
  noted_ = 0;
  is_closed_ = false;
  is_split_ = false;
}

bool TransactionBatcher::MayTake() const {
  if (is_stopped_) return false;
  const bool must_end = is_closed_ || records_ >= limit_;
  return !must_end || MustGoOn();
}

void TransactionBatcher::OnEvent(uint64_t records, size_t bytes) {
  is_inside_ = true;
  records_ += records;
  bytes_ += bytes;
}

bool TransactionBatcher::IsOversized(MonotonicTime now) const {
  return IsTooLarge() ||
         (begun_at_ && now >= *begun_at_ + options_.timeout / 2);
}

bool TransactionBatcher::IsDue(Flight flight, MonotonicTime now) {
  looked_at_ = now;
  if (flight == Flight::kBusy) busy_until_ = now + options_.interval;
  if (MustGoOn() && IsOversized(now)) {
    is_stopped_ = options_.oversize == TransactionOptions::Oversize::kStop;
    is_split_ = !is_stopped_;
    splits_ += is_split_ && !is_counted_;
    is_counted_ = is_split_;
  }
  if (is_closed_) return true;
  if (records_ == 0) return false;
  if (!begun_at_) begun_at_ = now;
  if (records_ != noted_) noted_at_ = now;
  noted_ = records_;
  const bool is_idle =
      flight == Flight::kNone && now >= noted_at_ + options_.idle;
  return is_idle || records_ >= limit_ || IsOversized(now) ||
         now >= *begun_at_ + interval();
}

bool TransactionBatcher::Close(bool is_in_flight) {
  is_closed_ = true;
  return !is_in_flight && !MustGoOn();
}

void TransactionBatcher::OnCommitted() {
  committed_records_ += records_;
  limit_ = std::min(2 * limit_, options_.max_records);
  StartOver();
}

MonotonicTime TransactionBatcher::due_at() const {
  if (!begun_at_ || is_closed_) return MonotonicTime::max();
  const MonotonicTime by_age = *begun_at_ + interval();
  const MonotonicTime by_silence = noted_at_ + options_.idle;
  return by_silence > looked_at_ ? std::min(by_age, by_silence) : by_age;
}

}  // namespace walpost
