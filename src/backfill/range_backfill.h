// RangeBackfill: decides which events of a range of the WAL are sent again, for
// `walpost replay`.
//
//   ReplaySource ──▶ RangeBackfill ──▶ WalProgress ──▶ Sender
//                     └─ too old, on record; a rate; or only a count
//
// The records have the same bytes and order as in the live flow. resume() says
// where another replay continues.
//
// Pure: the clock is a parameter. Owned by Replay; use once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "base/time.h"
#include "delivery/event_consumer.h"
#include "delivery/rate_limit.h"
#include "delivery/sender.h"
#include "delivery/wal_progress.h"
#include "outbox/events_on_record.h"
#include "outbox/record_builder.h"

namespace walpost {

class RangeBackfill final : public EventConsumer {
 public:
  struct Options {
    Lsn from;                       // of the range
    std::optional<WallTime> since;  // earlier transactions are passed over
    uint32_t timeline = 0;
    uint64_t per_second = 0;  // records; 0: no limit
    std::function<MonotonicTime()> clock;
    // Why the sink makes no progress; nullptr: it always does.
    std::function<absl::Status()> sink_trouble;
  };
  struct Counts {
    uint64_t events = 0;         // acknowledged; in a dry run: deliverable
    uint64_t undeliverable = 0;  // beside `events`: on_error has set them aside
    uint64_t value_bytes = 0;
    uint64_t too_old = 0;        // from before `since`
    DispositionCounts left_out;  // on record
  };

  // Before the first event: sends through `sender`, which has no other source
  // and outlives this object.
  void Begin(Options options, EventsOnRecord on_record, Sender& sender);
  // Begins a dry run, which only counts the records that `preview` builds.
  void BeginDryRun(Options options, EventsOnRecord on_record,
                   std::unique_ptr<RecordBuilder> preview);

  // The sink must be replaced.
  bool sink_failed() const {
    return sender_ != nullptr && sender_->sink_failure().has_value();
  }
  // After the last report of a sink that has failed: true if the brokers have
  // rejected a record of it, or a batch, so that another round, after Continue,
  // finds the event and does what on_error says.
  bool has_rejected_events() const;
  // Another round begins: the source repeats its events from resume() on, for
  // another sink. Those that are acknowledged are not sent again.
  void Continue();

  // LSN before which everything is acknowledged; in a dry run: counted.
  Lsn resume() const { return confirmable(); }
  Counts counts() const;
  // Events that are done, whatever has become of them: acknowledged or set
  // aside.
  uint64_t handled() const;

  // EventConsumer.
  bool CanTake() const override {
    // Ignores the rate, because the end of a transaction need not wait for it.
    return !progress_ || progress_->CanTake();
  }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override;
  void OnTransactionEnd(Lsn end_lsn) override;
  void OnKeepalive(Lsn wal_end) override;
  Lsn confirmable() const override {
    return progress_ ? progress_->confirmed() : counted_through_;
  }
  bool IsDrained() const override {
    return sender_ == nullptr || sender_->IsDrained();
  }
  // Errors are those of DeliveryHealth; kFailedPrecondition, also if another
  // round shows another WAL.
  absl::Status Health() const override;
  // kFailedPrecondition: an event cannot be delivered; names it. Else why the
  // sink makes no progress.
  absl::Status DeliveryHealth() const;
  MonotonicTime retry_at() const override;

 private:
  bool IsTooOld(const Event& event) const {
    return options_.since && event.commit_time < *options_.since;
  }
  Offer Judge(const Event& event, const absl::Status& mapped);
  bool LeavesOut(const Event& event);
  // False: an earlier round has counted the event.
  bool IsNew(const Event& event) const { return event.position > newest_; }
  void Count(const Event& event, const absl::Status& mapped);

  Options options_;
  std::optional<EventsOnRecord> on_record_;
  RateLimit rate_{0};
  Sender* sender_ = nullptr;  // not in a dry run
  std::optional<WalProgress> progress_;
  Position newest_;  // that was judged; an earlier one is a repeated one
  std::unique_ptr<RecordBuilder> preview_;
  Lsn counted_through_;  // in a dry run
  Counts counts_;
};

}  // namespace walpost
