#include "polling/outbound.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace walpost {

void Outbound::SetSink(RecordSink* sink) {
  sink_ = sink;
  held_until_ = {};
  if (sink == nullptr) return;
  failure_.reset();
  purge_wanted_ = false;
}

Outbound::Sent Outbound::Send(const Event& event, const absl::Status& mapped,
                              RowFlight::Row row, RowFlight& flight) {
  ++counters_.events;
  if (row.sent_at > suspected_until_) suspects_.clear();
  if (!CanTake()) {
    flight.Return(std::move(row));
    return Sent::kNotNow;
  }
  absl::Status status = mapped;
  size_t bytes = 0;
  size_t value_bytes = 0;
  if (status.ok()) {
    const absl::StatusOr<Record> record = builder_->Build(event, 0);
    status = record.status();
    if (status.ok()) {
      bytes = record->size_bytes;
      value_bytes = record->value ? record->value->size() : 0;
      status = sink_->Produce(*record, next_);
    }
  }
  if (status.ok()) {
    flight.Add(next_, std::move(row));
    records_.emplace(next_, InFlight{&flight, bytes, event.commit_time,
                                     /*is_first=*/records_.empty()});
    ++next_;
    bytes_ += bytes;
    ++counters_.produced;
    counters_.value_bytes += value_bytes;
    return Sent::kSent;
  }
  if (absl::IsResourceExhausted(status) || IsOfNewTopic(status)) {
    // It will be offered again.
    --counters_.events;
    Hold(row.sent_at);
    flight.Return(std::move(row));
    return Sent::kNotNow;
  }
  ++counters_.not_delivered;
  // A topic that the brokers do not know affects only its row.
  if (absl::IsInvalidArgument(status) || absl::IsUnavailable(status)) {
    suspects_.erase(row.id);
    flight.Refuse(std::move(row), status);
    return Sent::kRefused;
  }
  flight.Return(std::move(row));
  if (absl::IsFailedPrecondition(status)) trouble_ = status;
  Fail(status);
  return Sent::kNotNow;
}

// Once for all rows of a turn, which have its time.
void Outbound::Hold(MonotonicTime now) {
  if (now < held_until_) return;
  held_until_ = now + hold_;
  hold_ = std::min(2 * hold_, kMaxHold);
}

void Outbound::Purge(const std::string& reason) {
  purge_wanted_ = true;
  Fail(absl::AbortedError(reason));
}

void Outbound::Fail(absl::Status error) {
  if (!failure_) failure_ = std::move(error);
  if (on_failure_) on_failure_();
}

Outbound::InFlight Outbound::Take(Sequence sequence) {
  const auto found = records_.find(sequence);
  WALPOST_CHECK(found != records_.end());
  const InFlight record = found->second;
  records_.erase(found);
  bytes_ -= record.bytes;
  held_until_ = {};
  return record;
}

void Outbound::OnAcknowledged(Sequence sequence, WallTime now) {
  const InFlight record = Take(sequence);
  ++counters_.acknowledged;
  latency_.Record(now - record.sent_at);
  hold_ = kFirstHold;
  trouble_ = absl::OkStatus();
  if (!suspects_.empty()) {
    suspects_.erase(record.flight->Find(sequence).id);
  }
  record.flight->OnAcknowledged(sequence);
}

void Outbound::OnNotDelivered(Sequence sequence, const absl::Status& error) {
  const InFlight record = Take(sequence);
  ++counters_.not_delivered;
  if (IsOfNewTopic(error)) {
    record.flight->OnReturned(sequence);
    return;
  }
  const RowFlight::Row& row = record.flight->Find(sequence);
  if (absl::IsInvalidArgument(error) && !WasAlone(record, sequence)) {
    Suspect(row);
    record.flight->OnReturned(sequence);
    return;
  }
  if (absl::IsInvalidArgument(error) || absl::IsUnavailable(error)) {
    suspects_.erase(row.id);
    record.flight->OnRefused(sequence, error);
    return;
  }
  record.flight->OnReturned(sequence);
  if (absl::IsFailedPrecondition(error)) trouble_ = error;
  Fail(error);
}

void Outbound::Suspect(const RowFlight::Row& row) {
  suspects_.insert(row.id);
  suspected_until_ = std::max(suspected_until_, row.sent_at + kSuspicion);
}

void Outbound::OnSinkFailed(const absl::Status& error) { Fail(error); }

std::optional<WallTime> Outbound::oldest() const {
  std::optional<WallTime> oldest;
  for (const auto& [sequence, record] : records_) {
    if (!oldest || record.sent_at < *oldest) oldest = record.sent_at;
  }
  return oldest;
}

}  // namespace walpost
