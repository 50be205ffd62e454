#include "backfill/range_backfill.h"

#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

void RangeBackfill::Begin(Options options, EventsOnRecord on_record,
                          Sender& sender) {
  options_ = std::move(options);
  on_record_ = std::move(on_record);
  rate_ = RateLimit(options_.per_second);
  sender_ = &sender;
  sender.SetTimeline(options_.timeline);
  progress_.emplace(sender).Resume(options_.from, {});
}

void RangeBackfill::BeginDryRun(Options options, EventsOnRecord on_record,
                                std::unique_ptr<RecordBuilder> preview) {
  options_ = std::move(options);
  on_record_ = std::move(on_record);
  preview_ = std::move(preview);
  counted_through_ = options_.from;
}

// What somebody has decided about an event stays decided.
bool RangeBackfill::LeavesOut(const Event& event) {
  const std::optional<Disposition> fate = on_record_->FindInWal(event);
  if (fate && IsNew(event)) counts_.left_out.Add(*fate);
  return fate.has_value();
}

bool RangeBackfill::has_rejected_events() const {
  return sink_failed() && !sender_->stoppage() &&
         (sender_->refused() || sender_->has_suspects());
}

void RangeBackfill::Continue() {
  sender_->Rewind();
  progress_->BeginStream(resume());
}

EventConsumer::Offer RangeBackfill::OnEvent(const Event& event,
                                            const absl::Status& mapped) {
  const Offer offer = Judge(event, mapped);
  if (offer == Offer::kAccepted) newest_ = std::max(newest_, event.position);
  return offer;
}

EventConsumer::Offer RangeBackfill::Judge(const Event& event,
                                          const absl::Status& mapped) {
  if (IsTooOld(event)) {
    counts_.too_old += mapped.ok() && IsNew(event);
    return Offer::kAccepted;
  }
  if (preview_ != nullptr) {
    if (!LeavesOut(event)) Count(event, mapped);
    return Offer::kAccepted;
  }
  const MonotonicTime now = options_.clock();
  if (mapped.ok() && !rate_.MayTake(now)) return Offer::kBackpressure;
  if (LeavesOut(event)) return Offer::kAccepted;
  const Offer offer = progress_->OnEvent(event, mapped);
  if (mapped.ok() && offer == Offer::kAccepted) rate_.Take(now);
  return offer;
}

void RangeBackfill::Count(const Event& event, const absl::Status& mapped) {
  const absl::StatusOr<Record> record =
      mapped.ok() ? preview_->Build(event, options_.timeline)
                  : absl::StatusOr<Record>(mapped);
  counts_.undeliverable += !record.ok();
  counts_.events += record.ok();
  if (record.ok() && record->value) {
    counts_.value_bytes += record->value->size();
  }
}

// Without a rate limit, the producer makes room and reports it.
MonotonicTime RangeBackfill::retry_at() const {
  const bool waits = sender_ != nullptr && !rate_.MayTake(options_.clock());
  return waits ? rate_.next() : MonotonicTime::max();
}

void RangeBackfill::OnTransactionEnd(Lsn end_lsn) {
  if (progress_) {
    progress_->OnTransactionEnd(end_lsn);
  } else {
    counted_through_ = end_lsn;
  }
}

// The server begins before the range.
void RangeBackfill::OnKeepalive(Lsn wal_end) {
  if (wal_end > confirmable()) OnTransactionEnd(wal_end);
}

absl::Status RangeBackfill::Health() const {
  if (progress_) WALPOST_RETURN_IF_ERROR(progress_->Health());
  return DeliveryHealth();
}

absl::Status RangeBackfill::DeliveryHealth() const {
  if (sender_ == nullptr) return absl::OkStatus();
  const std::optional<BlockedEvent>& stoppage = sender_->stoppage();
  if (stoppage) {
    return absl::FailedPreconditionError(fmt::format(
        "event {} of the commit at {}{}{} cannot be delivered: {}",
        stoppage->event_id, stoppage->position.commit_lsn.ToString(),
        stoppage->table.empty() ? "" : " of table ", stoppage->table,
        std::string(stoppage->reason.message())));
  }
  return options_.sink_trouble ? options_.sink_trouble() : absl::OkStatus();
}

uint64_t RangeBackfill::handled() const {
  if (sender_ == nullptr) return 0;
  return sender_->counters().acknowledged + sender_->counters().set_aside();
}

RangeBackfill::Counts RangeBackfill::counts() const {
  Counts counts = counts_;
  if (sender_ == nullptr) return counts;
  const DeliveryCounters& sent = sender_->counters();
  // Dead letters are acknowledged, too.
  counts.events = sent.acknowledged - DeliveryCounters::Sum(sent.dead_letters);
  counts.undeliverable = sent.set_aside();
  counts.value_bytes = sent.value_bytes;
  return counts;
}

}  // namespace walpost
