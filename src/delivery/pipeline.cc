#include "delivery/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace walpost {
namespace {

constexpr size_t kMaxIdLength = 200;  // bytes of an event id in messages

}  // namespace

Pipeline::Pipeline(std::unique_ptr<RecordBuilder> builder,
                   AcknowledgementWindow::Options window)
    : dispatch_(std::move(builder), Ordering::kByPosition, counters_),
      window_options_(window),
      window_(window) {}

void Pipeline::Rewind() {
  resume_filter_.Add(window_.Clear());
  sink_failure_.reset();
  held_.reset();
  one_at_a_time_ = false;
  // The stream reaches that event again, after the events given up before it.
  stoppage_.reset();
  ++counters_.rewinds;
}

void Pipeline::StartOver() {
  Rewind();
  ForgetPositions();
  suspects_.Clear();
  refused_.reset();
}

void Pipeline::ForgetPositions() {
  window_ = AcknowledgementWindow(window_options_);
  resume_filter_ = ResumeFilter();
  history_ = HistoryCheck();
  floor_ = Lsn();
  divergence_.reset();
}

void Pipeline::Resume(Lsn confirmed, const Position& acknowledged_through,
                      const CommitIdentity& commit) {
  const bool is_event = acknowledged_through.ordinal > 0;
  const CommitIdentity known = is_event ? commit : CommitIdentity();
  window_.Resume(confirmed, acknowledged_through, known);
  history_.Know(known);
  if (is_event) {
    floor_ = Lsn();
    return;
  }
  // What precedes its position had its writer's trust, and has no proof.
  history_.Trust(acknowledged_through.commit_lsn);
  floor_ = std::max(floor_, acknowledged_through.commit_lsn);
}

void Pipeline::BeginStream(Lsn from) {
  if (from > window_.received()) {
    floor_ = from;
    history_.Trust(from);
    if (window_.empty()) window_.Resume(from, Position{from, 0});
  }
  window_.AddBoundary(from);
  // Records in flight may still be acknowledged, and with them the boundaries
  // before.
  history_.Begin(from, window_.received(), window_.covered_commit());
}

// Called for every event; false stops the stream.
bool Pipeline::Continues(const Event& event) {
  const absl::Status status = history_.OnCommit(
      {event.position.commit_lsn, event.xid, event.commit_time});
  if (!status.ok()) divergence_ = status;
  return status.ok();
}

void Pipeline::PassBoundary(Lsn lsn) {
  const absl::Status status = history_.OnBoundary(lsn);
  if (!status.ok()) divergence_ = status;
  if (!divergence_) window_.AddBoundary(lsn);
}

Pipeline::Offer Pipeline::OnEvent(const Event& event) {
  if (!CanTake()) return Offer::kHold;
  if (!Continues(event)) return Offer::kHold;
  if (PassOver(event)) return Offer::kTaken;
  if (refused_ && event.position >= refused_->position) {
    return Stop(event, refused_->reason);
  }
  one_at_a_time_ = IsSuspect(event);
  if (one_at_a_time_ && !window_.empty()) {
    --counters_.events;  // it will be offered again
    return Offer::kHold;
  }
  return Carry(event, dispatch_.Send(event, window_.next_sequence()));
}

Pipeline::Offer Pipeline::OnUndeliverable(const Event& event,
                                          const absl::Status& reason) {
  if (stoppage_ || divergence_ || !Continues(event)) return Offer::kHold;
  if (PassOver(event)) return Offer::kTaken;  // it could be delivered before
  return Carry(event, dispatch_.Judge(reason));
}

void Pipeline::OnTransactionEnd(Lsn end_lsn) {
  ++counters_.transactions;
  PassBoundary(end_lsn);
}

bool Pipeline::IsSuspect(const Event& event) {
  if (suspects_.empty()) return false;
  if (suspects_.LieBefore(event.position)) suspects_.Clear();
  return suspects_.Span(event.position);
}

bool Pipeline::PassOver(const Event& event) {
  ++counters_.events;
  if (window_.Covers(event.position)) {
    ++counters_.repeats;
    return true;
  }
  if (!resume_filter_.IsAcknowledged({event.position, event.xid})) return false;
  // Add it to the window again, so that a further repeat finds it.
  const Sequence sequence =
      window_.Add({event.position, event.commit_time, 0, event.xid});
  window_.Acknowledge(sequence);
  ++counters_.repeats;
  return true;
}

Pipeline::Offer Pipeline::Carry(const Event& event, Dispatch::Outcome outcome) {
  switch (outcome.verdict) {
    case Verdict::kSent:
      window_.Add(
          {event.position, event.commit_time, outcome.record_bytes, event.xid});
      return Offer::kTaken;
    case Verdict::kHold:
      held_ = std::move(outcome.reason);
      break;
    case Verdict::kReplaceSink:
      sink_failure_ = std::move(outcome.reason);
      break;
    case Verdict::kRefuse:
      return Stop(event, std::move(outcome.reason));
  }
  --counters_.events;  // it will be offered again
  return Offer::kHold;
}

Pipeline::Offer Pipeline::Stop(const Event& event, absl::Status reason) {
  stoppage_ =
      Stoppage{event.position, ValidUtf8(event.id.value_or(""), kMaxIdLength),
               std::move(reason)};
  return Offer::kHold;
}

void Pipeline::OnAcknowledged(Sequence sequence, WallTime now) {
  const InFlightRecord* record = window_.Acknowledge(sequence);
  if (record == nullptr) return;
  ++counters_.acknowledged;
  latency_.Record(now - record->commit_time);
  if (held_ && absl::IsResourceExhausted(*held_)) held_.reset();
}

void Pipeline::OnNotDelivered(Sequence sequence, const absl::Status& error) {
  ++counters_.not_delivered;
  const InFlightRecord* record = window_.Find(sequence);
  if (record == nullptr) return;
  if (absl::IsInvalidArgument(error)) OnRefused(record->position, error);
  // A rejected record fails its whole batch and, because of the order,
  // everything behind it: the sink must be replaced.
  if (!sink_failure_) sink_failure_ = error;
}

void Pipeline::OnRefused(const Position& position, const absl::Status& error) {
  const bool was_alone = window_.in_flight_records() == 1;
  if (suspects_.OnRejected(position, was_alone)) refused_ = {position, error};
}

void Pipeline::Suspect(const Position& first, const Position& last) {
  suspects_.Add(first);
  suspects_.Add(last);
}

void Pipeline::OnSinkFailed(const absl::Status& error) {
  if (!sink_failure_) sink_failure_ = error;
}

}  // namespace walpost
