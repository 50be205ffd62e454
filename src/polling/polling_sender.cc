#include "polling/polling_sender.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace walpost {

void PollingSender::SetSink(RecordSink* sink) {
  record_sender_.SetSink(sink);
  held_until_ = {};
  if (sink == nullptr) return;
  hold_ = kFirstHold;
  failure_.reset();
  purge_wanted_ = false;
}

PollingSender::Sent PollingSender::Send(const Event& event,
                                        const absl::Status& mapped,
                                        RowsInFlight::Row row,
                                        RowsInFlight& flight) {
  ++counters_.events;
  if (row.sent_at > suspected_until_) batch_bisector_.Clear();
  if (!CanTake()) {
    flight.Return(std::move(row));
    return Sent::kNotNow;
  }
  RecordSender::Outcome outcome = Offer(event, mapped, row, flight);
  absl::Status dead;
  if (outcome.verdict == SendOutcome::kRefuse) {
    const ErrorAction action = error_actions_.For(outcome.reason);
    if (LeavesOut(action)) {
      NoteSkip(action, row.id, event.source, outcome.reason);
      batch_bisector_.Clear(row.id);
      dead_.erase(RowKey(&flight, row.id));
      flight.Divert(std::move(row), std::move(outcome.reason));
      return Sent::kSent;
    }
    if (action == ErrorAction::kDeadLetter) {
      dead = std::move(outcome.reason);
      outcome =
          SpareNewTopic(record_sender_.SendDeadLetter(event, dead, next_));
    }
  }
  return Carry(std::move(outcome), event, std::move(row), flight,
               std::move(dead));
}

RecordSender::Outcome PollingSender::Offer(const Event& event,
                                           const absl::Status& mapped,
                                           const RowsInFlight::Row& row,
                                           const RowsInFlight& flight) {
  if (!dead_.empty()) {
    const auto found = dead_.find(RowKey(&flight, row.id));
    if (found != dead_.end() && row.sent_at < found->second.until) {
      return record_sender_.Judge(found->second.reason);
    }
  }
  return SpareNewTopic(mapped.ok() ? record_sender_.Send(event, next_)
                                   : record_sender_.Judge(mapped));
}

PollingSender::Sent PollingSender::Carry(RecordSender::Outcome outcome,
                                         const Event& event,
                                         RowsInFlight::Row row,
                                         RowsInFlight& flight,
                                         absl::Status dead) {
  switch (outcome.verdict) {
    case SendOutcome::kSent:
      if (!dead.ok()) {
        ReportSetAside(ErrorAction::kDeadLetter, row.id, event.source, dead);
      }
      flight.Add(next_, std::move(row));
      records_.emplace(next_, InFlight{&flight, outcome.record_bytes,
                                       event.commit_time, outcome.label,
                                       /*is_first=*/records_.empty(),
                                       event.source, std::move(dead)});
      ++next_;
      bytes_ += outcome.record_bytes;
      return Sent::kSent;
    case SendOutcome::kBackpressure:
      --counters_.events;  // it will be offered again
      Hold(outcome.reason, row.sent_at);
      break;
    case SendOutcome::kRefuse:
      ++counters_.not_delivered;
      batch_bisector_.Clear(row.id);
      flight.Refuse(std::move(row), std::move(outcome.reason));
      return Sent::kRefused;
    case SendOutcome::kReplaceSink:
      ++counters_.not_delivered;
      if (delay_.empty()) NoteDelay(outcome.reason);
      Fail(std::move(outcome.reason));
      break;
  }
  flight.Return(std::move(row));
  return Sent::kNotNow;
}

void PollingSender::NoteSkip(ErrorAction action, std::string_view row_id,
                             size_t source, const absl::Status& reason) {
  ++counters_.skipped[ErrorClassOf(reason)];
  ReportSetAside(action, row_id, source, reason);
}

void PollingSender::ReportSetAside(ErrorAction action, std::string_view row_id,
                                   size_t source, const absl::Status& reason) {
  if (!on_diverted_) return;
  on_diverted_({action, Position(), IdForMessages(row_id), reason,
                record_sender_.builder().routes()[source].table()});
}

// A topic that the brokers do not know yet is not the fault of a row.
RecordSender::Outcome PollingSender::SpareNewTopic(
    RecordSender::Outcome outcome) const {
  if (absl::IsUnavailable(outcome.reason) && !topics_are_known_) {
    outcome.verdict = SendOutcome::kBackpressure;
  }
  return outcome;
}

// Once for all rows of a turn, which have its time.
void PollingSender::Hold(const absl::Status& reason, MonotonicTime now) {
  if (now < held_until_) return;
  if (delay_.empty() || IsOfTopic(reason)) NoteDelay(reason);
  held_until_ = now + hold_;
  hold_ = std::min(2 * hold_, kMaxHold);
}

void PollingSender::NoteDelay(const absl::Status& reason) {
  delay_ = std::string(reason.message());
}

void PollingSender::Purge(const std::string& reason) {
  purge_wanted_ = true;
  Fail(absl::AbortedError(reason));
}

void PollingSender::Fail(absl::Status error) {
  if (absl::IsFailedPrecondition(error)) trouble_ = error;
  if (!failure_) failure_ = std::move(error);
  if (on_failure_) on_failure_();
}

PollingSender::InFlight PollingSender::Take(Sequence sequence) {
  const auto found = records_.find(sequence);
  WALPOST_CHECK(found != records_.end());
  const InFlight record = found->second;
  records_.erase(found);
  bytes_ -= record.bytes;
  held_until_ = {};
  return record;
}

void PollingSender::OnAcknowledged(Sequence sequence, WallTime now) {
  const InFlight record = Take(sequence);
  ++counters_.acknowledged;
  record_sender_.latencies().Record(record.label, now - record.sent_at);
  hold_ = kFirstHold;
  trouble_ = absl::OkStatus();
  delay_.clear();
  const std::string& id = record.flight->Find(sequence).id;
  if (!batch_bisector_.empty()) batch_bisector_.Clear(id);
  if (record.dead.ok()) return record.flight->OnAcknowledged(sequence);
  ++counters_.dead_letters[ErrorClassOf(record.dead)];
  dead_.erase(RowKey(record.flight, id));
  record.flight->OnSetAside(sequence, record.dead);
}

void PollingSender::OnNotDelivered(Sequence sequence,
                                   const absl::Status& error) {
  const InFlight record = Take(sequence);
  ++counters_.not_delivered;
  const RowsInFlight::Row& row = record.flight->Find(sequence);
  switch (SpareNewTopic(record_sender_.Judge(error)).verdict) {
    case SendOutcome::kRefuse:
      // A topic that is not there is reported for each of its records.
      if (absl::IsInvalidArgument(error) &&
          !batch_bisector_.OnRejected(row.id, WasAlone(record, sequence))) {
        suspected_until_ = std::max(suspected_until_, row.sent_at + kSuspicion);
        break;
      }
      return OnRejected(record, sequence, error);
    case SendOutcome::kReplaceSink:
      if (!failure_) NoteDelay(error);
      Fail(error);
      break;
    case SendOutcome::kBackpressure:
    case SendOutcome::kSent:
      break;
  }
  record.flight->OnReturned(sequence);
}

// The brokers do not take this record.
void PollingSender::OnRejected(const InFlight& record, Sequence sequence,
                               const absl::Status& error) {
  const RowsInFlight::Row& row = record.flight->Find(sequence);
  batch_bisector_.Clear(row.id);
  const RowKey key(record.flight, row.id);
  if (!record.dead.ok()) {
    dead_.erase(key);
    return record.flight->OnRefused(sequence,
                                    WithoutDeadLetter(record.dead, error));
  }
  const ErrorAction action = error_actions_.For(error);
  if (LeavesOut(action)) {
    NoteSkip(action, row.id, record.source, error);
    return record.flight->OnSetAside(sequence, error);
  }
  if (action == ErrorAction::kDeadLetter) {
    if (dead_.size() >= kMaxDeadRows) dead_.clear();
    dead_[key] = {error, row.sent_at + kSuspicion};
    return record.flight->OnReturned(sequence);
  }
  record.flight->OnRefused(sequence, error);
}

void PollingSender::OnSinkFailed(const absl::Status& error) {
  if (!failure_ && !records_.empty()) NoteDelay(error);
  Fail(error);
}

std::optional<WallTime> PollingSender::oldest() const {
  std::optional<WallTime> oldest;
  for (const auto& [sequence, record] : records_) {
    if (!oldest || record.sent_at < *oldest) oldest = record.sent_at;
  }
  return oldest;
}

}  // namespace walpost
