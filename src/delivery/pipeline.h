// Pipeline: decides, for every event, whether it goes out, waits, is passed
// over or stops the flow; and from the reports, what may be confirmed.
//
//   source ──OnEvent, OnTransactionEnd, OnKeepalive──▶ Pipeline ──▶ sink
//   source ◀─────────────── confirmed() ───────────── Pipeline ◀── reports
//
// The contract with a source: events in the order of their positions, then
// OnTransactionEnd with the LSN before which everything has been handed in.
// A source whose event is not taken keeps it, reads no further, and offers it
// again when CanTake() has become true. A source may start over at any LSN
// up to confirmed(): what is repeated is recognised by position.
//
// Pure: no clock, no I/O, no thread. One owner drives it from one thread; the
// sink must outlive its use (SetSink).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/history_check.h"
#include "delivery/latency_histogram.h"
#include "delivery/record_sink.h"
#include "delivery/resume_filter.h"
#include "outbox/event.h"
#include "outbox/record_builder.h"

namespace walpost {

// An event that stops the flow, and why.
struct Stoppage {
  Position position;
  std::string event_id;  // empty when not known
  absl::Status reason;
};

struct DeliveryCounters {
  uint64_t events = 0;         // received, repeats included
  uint64_t repeats = 0;        // passed over: in flight or acknowledged
  uint64_t produced = 0;       // handed to the sink
  uint64_t acknowledged = 0;   // durable at the brokers
  uint64_t value_bytes = 0;    // of produced records
  uint64_t not_delivered = 0;  // reports other than an acknowledgement
  uint64_t transactions = 0;   // received whole, repeats included
  uint64_t rewinds = 0;        // producers given up
};

class Pipeline final : public RecordReports {
 public:
  enum class Offer {
    kTaken,  // produced or passed over; the next event may come
    kHold,   // keep it, and offer it again when CanTake()
  };

  Pipeline(std::unique_ptr<RecordBuilder> builder,
           AcknowledgementWindow::Options window);

  // ---- From the owner.

  // The sink to produce to; nullptr while there is none.
  void SetSink(RecordSink* sink) { sink_ = sink; }
  // Of the server, for the position header.
  void SetTimeline(uint32_t timeline) { timeline_ = timeline; }

  // Gives up everything in flight: the sink was lost. The source must start
  // over at confirmed().
  void Rewind();

  // Forgets every position, too: the source's WAL has forked, and goes on from
  // where its slot stands. The sink is gone by now, and with it its reports.
  void StartOver();

  // Goes on from what an earlier process or another instance had come to, as a
  // checkpoint says. `commit` is the transaction of the position, if known.
  // Only while nothing is in flight.
  void Resume(Lsn confirmed, const Position& acknowledged_through,
              const CommitIdentity& commit = {});

  // Gives the records a sink would not take just now another chance.
  void RetryHeld() { held_.reset(); }

  // ---- From the source.

  // Whether a stream from there would show events that this process cannot
  // judge: another instance, or an earlier process, had them before this one
  // came to the slot, and no event up to which it passes over could prove that
  // they are the same. Then StartOver comes first, and they are sent again.
  bool LacksEvidenceFrom(Lsn from) const {
    return from < floor_ && window_.covered_commit().lsn < floor_;
  }

  // A stream begins that has every commit at `from` or later; no later than
  // where the slot stands, so that what is known is seen again (HistoryCheck).
  // Where the slot has moved past all that is known, what lies before is known
  // to be acknowledged: by whoever moved it. Requires evidence.
  void BeginStream(Lsn from);

  // Whether the next event has a chance of being taken.
  bool CanTake() const {
    return sink_ != nullptr && !stoppage_ && !sink_failure_ && !held_ &&
           !divergence_ && window_.HasRoom() &&
           (!one_at_a_time_ || window_.empty());
  }
  Offer OnEvent(const Event& event);
  Offer OnUndeliverable(const Event& event, const absl::Status& reason);
  void OnTransactionEnd(Lsn end_lsn);
  // An LSN before which the source has nothing more to hand in; only outside
  // a transaction, in stream order.
  void OnKeepalive(Lsn wal_end) { PassBoundary(wal_end); }

  // ---- From the sink.

  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnSinkFailed(const absl::Status& error) override;

  // ---- What holds.

  // What may be told to Postgres, once the history is settled.
  Lsn confirmed() const { return window_.confirmed(); }
  // Whether the current stream has shown all that is known from before. Until
  // then the server is told nothing but where its slot stands.
  bool is_history_settled() const { return history_.is_settled(); }
  // The WAL is not the one that we know: nothing further is taken, and the
  // stream must end. kFailedPrecondition, with the reason code of the gap.
  const std::optional<absl::Status>& divergence() const { return divergence_; }
  // The newest event before which, itself included, all are in Kafka.
  const Position& acknowledged_through() const {
    return window_.acknowledged_through();
  }
  const CommitIdentity& acknowledged_commit() const {
    return window_.acknowledged_commit();
  }
  const AcknowledgementWindow& window() const { return window_; }
  const RecordBuilder& builder() const { return *builder_; }

  // The event that the flow stands before, for an operator to act on.
  const std::optional<Stoppage>& stoppage() const { return stoppage_; }
  // Why the sink must be replaced, and Rewind called.
  const std::optional<absl::Status>& sink_failure() const {
    return sink_failure_;
  }
  // Why the sink does not take the current event, though it may later.
  const std::optional<absl::Status>& held() const { return held_; }

  const DeliveryCounters& counters() const { return counters_; }
  // From commit to acknowledgement.
  const LatencyHistogram& latency() const { return latency_; }

 private:
  // From the first to the last of the records that were refused together. The
  // broker answers for a whole batch, and does not always mean all of it.
  struct Suspects {
    Position first;
    Position last;
    bool Has(const Position& position) const {
      return first <= position && position <= last;
    }
  };

  void ForgetPositions();
  bool Continues(const Event& event);
  void PassBoundary(Lsn lsn);
  bool IsSuspect(const Event& event);
  void OnRefused(const Position& position, const absl::Status& error);
  bool PassOver(const Event& event);
  Offer Produce(const Event& event, const Record& record);
  Offer Stop(const Event& event, absl::Status reason);

  std::unique_ptr<RecordBuilder> builder_;
  AcknowledgementWindow::Options window_options_;
  AcknowledgementWindow window_;
  ResumeFilter resume_filter_;
  HistoryCheck history_;
  // Where the slot stood when this process came to it; events before it are
  // known by nothing else. 0/0: a checkpoint knows them.
  Lsn floor_;
  std::optional<absl::Status> divergence_;
  RecordSink* sink_ = nullptr;
  uint32_t timeline_ = 0;

  // After the rewind suspects go out one at a time. The one that is refused
  // alone is at refused_position_: the flow stops before it.
  std::optional<Suspects> suspects_;
  bool one_at_a_time_ = false;
  std::optional<Position> refused_position_;
  absl::Status refusal_;

  std::optional<Stoppage> stoppage_;
  std::optional<absl::Status> sink_failure_;
  std::optional<absl::Status> held_;

  DeliveryCounters counters_;
  LatencyHistogram latency_;
};

}  // namespace walpost
