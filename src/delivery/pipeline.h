// Pipeline: decides whether each event is sent, waits, is skipped or stops the
// flow; and, from the reports, which LSN may be confirmed.
//
//   source ──OnEvent, OnTransactionEnd, OnKeepalive──▶ Pipeline ──▶ sink
//   source ◀─────────────── confirmed() ───────────── Pipeline ◀── reports
//
// The contracts: with the source, EventTaker; it may start over at any LSN up
// to confirmed(), because repeated events are recognised by position. With the
// sink, RecordSink.
//
// Pure: no clock, no I/O, no thread. One owner drives it from one thread; the
// sink must outlive its use (SetSink).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/delivery_counters.h"
#include "delivery/dispatch.h"
#include "delivery/error_actions.h"
#include "delivery/event_taker.h"
#include "delivery/held_latencies.h"
#include "delivery/history_check.h"
#include "delivery/latency_histogram.h"
#include "delivery/parking.h"
#include "delivery/record_sink.h"
#include "delivery/recorded_events.h"
#include "delivery/resume_filter.h"
#include "delivery/set_aside.h"
#include "delivery/stoppage.h"
#include "delivery/suspects.h"
#include "delivery/transaction_options.h"
#include "outbox/event.h"
#include "outbox/record_builder.h"

namespace walpost {

// A record that the brokers rejected, and no other with it.
struct Refusal {
  Position position;
  absl::Status reason;
  bool is_of_dead_letter = false;
};

class Pipeline final : public EventTaker, public SinkUser {
 public:
  // So many records in a row must be accepted alone before batches are sent
  // again.
  static constexpr uint32_t kMinAcceptedAlone = 50;

  Pipeline(std::unique_ptr<RecordBuilder> builder,
           AcknowledgementWindow::Options window);

  // ---- Called by the owner.

  void SetSink(RecordSink* sink) override { dispatch_.SetSink(sink); }
  // Timeline of the server, for the position header.
  void SetTimeline(uint32_t timeline) { dispatch_.SetTimeline(timeline); }
  // What becomes of events that cannot be delivered; else they stop the flow.
  void SetErrorActions(const ErrorActions& actions,
                       SetAsideListener on_set_aside) {
    error_actions_ = actions;
    on_set_aside_ = std::move(on_set_aside);
  }

  // After a rejection, sends records one at a time, so that the next rejected
  // one does not cost another sink: its event is held until the brokers have
  // decided about its record. For a source that offers a held event again after
  // each report, and a sink that goes on (RecordSink::AfterRejection).
  // `on_withdrawn`: a record that was sent is void.
  void TryAlone(std::function<void()> on_withdrawn) {
    tries_alone_ = true;
    on_withdrawn_ = std::move(on_withdrawn);
  }
  // The next sink should be one for records that go one at a time.
  bool is_careful() const { return is_careful_; }

  // Where events are parked; nullptr: nowhere. It outlives its use.
  void SetParking(Parking* parking) { parking_ = parking; }

  // Events to leave out when the stream shows them, by the decision of an
  // operator: "alice: paid by hand". Forgotten by StartOver.
  using Skips = RecordedEvents<std::string>;
  void SetSkips(Skips skips) { skips_ = std::move(skips); }

  // An operator's decision about the event that the flow has stopped before:
  // kSkip or kDeadLetter. False: the flow does not stand there, or stands there
  // in spite of it. Forgotten by StartOver.
  bool Decide(const Position& position, ErrorAction action);

  // Gives up everything in flight because the sink was lost. The source must
  // start over at confirmed().
  void Rewind();

  // What the sink has acknowledged is void, too, unless it is in a checkpoint:
  // its transaction was given up. The owner continues with Resume.
  void RewindToCheckpoint();

  // Forgets every position, too: the source's WAL has forked, and continues
  // from the slot's position. The sink and its reports no longer exist.
  void StartOver();

  // Continues from the progress of an earlier process or another instance, as a
  // checkpoint has it. `commit` is the transaction of the position, if known.
  // Requires that nothing is in flight.
  void Resume(Lsn confirmed, const Position& acknowledged_through,
              const CommitIdentity& commit = {});

  // kFailedPrecondition, with the reason code of the gap: that progress cannot
  // be from the WAL that this process has read.
  absl::Status CompareProgress(Lsn confirmed,
                               const CommitIdentity& commit) const {
    return history_.Compare(commit, confirmed);
  }

  // Sends the events from `first` to `last` one at a time: a record of a batch
  // that the brokers rejected is among them. Forgotten by StartOver.
  void Suspect(const Position& first, const Position& last);

  // The brokers rejected the event of this position, under an earlier one.
  // Forgotten by StartOver.
  void SetRefused(Refusal refusal) { refused_ = std::move(refusal); }
  // True if the flow goes on after an event that cannot be delivered for this
  // reason.
  bool Passes(const absl::Status& reason) const {
    return error_actions_.For(reason) != ErrorAction::kStop;
  }

  // The oldest event that the brokers do not take, or do not acknowledge; also
  // while the flow comes back to it. nullopt: there is none, or it is not its
  // topic's fault.
  std::optional<Position> standing_at() const;
  // Parks this event, at which the flow stands, and later ones of its topic
  // (Parking::Isolate). If it is in flight, the sink must be replaced.
  void Isolate(const Position& position);

  // Fewer events are parked: the flow may have stopped for want of room.
  void OnParkingRoom();

  // The sink has transactions: events reach consumers with OnCommitted, which
  // is when their latency ends, and when what was set aside counts. With
  // kSource, a transaction of the source is committed as a whole.
  using Boundary = TransactionOptions::Boundary;
  void AwaitCommits(Boundary boundary = Boundary::kEvent) {
    awaits_commits_ = true;
    commits_whole_ = boundary == Boundary::kSource;
  }
  void OnCommitted(WallTime now);

  // Offers again the records that a sink did not take.
  void RetryHeld() { held_.reset(); }

  // ---- Called by the source.

  // True if a stream from there would show events that this process cannot
  // judge: another instance, or an earlier process, had them before this one
  // came to the slot, and there is no covered event that could prove that they
  // are the same. Then call StartOver first; they are sent again.
  bool LacksEvidenceFrom(Lsn from) const {
    return from < floor_ && window_.covered_commit().lsn < floor_;
  }

  // A stream begins that has every commit at `from` or later; at most at the
  // slot's position, so that known events are seen again (HistoryCheck). If the
  // slot has moved past all known events, whoever moved it had acknowledged
  // what lies before. Requires evidence.
  void BeginStream(Lsn from);

  bool CanTake() const override {
    return dispatch_.has_sink() && !stoppage_ && !sink_failure_ && !held_ &&
           !divergence_ && window_.HasRoom() && !trial_is_open() &&
           !MustCommitFirst() && (!one_at_a_time_ || window_.empty());
  }
  Offer OnEvent(const Event& event) override;
  Offer OnUndeliverable(const Event& event,
                        const absl::Status& reason) override;
  void OnTransactionEnd(Lsn end_lsn) override;
  void OnKeepalive(Lsn wal_end) override { PassBoundary(wal_end); }
  Lsn confirmable() const override {
    return is_history_settled() ? confirmed() : Lsn();
  }
  bool IsDrained() const override { return window_.empty(); }
  absl::Status Health() const override {
    return divergence_.value_or(absl::OkStatus());
  }

  // ---- Called by the sink.

  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnRoom() override;
  void OnSinkFailed(const absl::Status& error) override;

  // ---- State.

  // LSN to confirm to Postgres, once the history is settled.
  Lsn confirmed() const { return window_.confirmed(); }
  // True if the current stream has shown all events known from before. Until
  // then only the slot's own position is confirmed to the server.
  bool is_history_settled() const { return history_.is_settled(); }
  // The WAL is not the known one: nothing further is taken, and the stream must
  // stop. kFailedPrecondition, with the reason code of the gap.
  const std::optional<absl::Status>& divergence() const { return divergence_; }
  // The newest event up to which, inclusive, all are in Kafka.
  const Position& acknowledged_through() const {
    return window_.acknowledged_through();
  }
  // All events at or before it are in Kafka, or set aside. A parked event must
  // not be sent before: an earlier one of its key may be in flight.
  Position settled_through() const;
  const CommitIdentity& acknowledged_commit() const {
    return window_.acknowledged_commit();
  }
  const AcknowledgementWindow& window() const { return window_; }
  const RecordBuilder& builder() const { return dispatch_.builder(); }

  // The event that the flow stopped before, for an operator to act on.
  const std::optional<Stoppage>& stoppage() const { return stoppage_; }
  // Likewise, also while the flow has yet to come back to it.
  const std::optional<Stoppage>& known_stoppage() const {
    return stoppage_ ? stoppage_ : stopped_before_;
  }
  // The event that the brokers rejected alone: once the sink is replaced, the
  // flow stops before it.
  const std::optional<Refusal>& refused() const { return refused_; }
  // How many events the brokers have rejected alone so far.
  uint64_t rejections() const { return rejections_; }
  // The brokers rejected records in company: sent alone, the culprit is found.
  bool has_suspects() const { return !suspects_.empty(); }
  // Why the sink must be replaced and Rewind called.
  const std::optional<absl::Status>& sink_failure() const {
    return sink_failure_;
  }
  // Why the sink does not take the current event now; it may later.
  const std::optional<absl::Status>& held() const { return held_; }

  const DeliveryCounters& counters() const { return counters_; }
  // From commit to acknowledgement.
  const LatencyHistogram& latency() const { return latency_; }

 private:
  void ForgetPositions();
  bool Continues(const Event& event);
  void PassBoundary(Lsn lsn);
  bool IsSuspect(const Event& event);
  void OnRefused(const InFlightRecord& record, const absl::Status& error);
  Offer Take(const Event& event, const absl::Status& mapped);
  Offer Decide(const Event& event, const absl::Status& mapped);
  // The record of a held event is with the brokers.
  bool trial_is_open() const {
    return trial_ && window_.Find(trial_->sequence) != nullptr;
  }
  bool TriesAlone() const;
  bool MustCommitFirst() const;
  bool MayWithdraw(Sequence sequence) const;
  void Withdraw(Sequence sequence);
  void OnRejectedAlone(const InFlightRecord& record, const absl::Status& error);
  void OnTriedWell(Sequence sequence);
  bool IsTried(const Event& event);
  std::optional<Offer> OfferToParking(const Event& event,
                                      const absl::Status& mapped);
  void ForgetSettled();
  const absl::Status* RefusalOf(const Position& position) const;
  bool PassOver(const Event& event);
  Offer Carry(const Event& event, Dispatch::Outcome outcome,
              uint8_t error_class = kNoErrorClass);
  ErrorAction ActionFor(const Position& position,
                        const absl::Status& reason) const;
  Offer Refuse(const Event& event, absl::Status reason);
  Offer StopBeforeDeadLetter(const Event& event, const absl::Status& error);
  Offer SendDeadLetter(const Event& event, const absl::Status& reason);
  Offer Skip(const Event& event, const absl::Status& reason);
  const std::string* DecisionToSkip(const Event& event);
  Offer SkipAsDecided(const Event& event, const std::string& decision);
  std::string DigestOf(const Event& event) const;
  bool IsDecidedAbout(const Position& position) const {
    return decision_ && decision_->position == position;
  }
  void IsolateIfDue(const Event& event);
  Offer StopUnparked(const Event& event, const absl::Status& reason);
  Offer ParkOrStop(const Event& event, const absl::Status& reason);
  Offer Park(const Event& event, const absl::Status& reason);
  Offer KeepLetter(const Event& event, const absl::Status& reason);
  Offer LeaveOut(const Event& event);
  void AddSettled(const Event& event);
  Offer HoldBack();
  Offer Stop(const Event& event, absl::Status reason);
  void ReportSetAside(ErrorAction action, const Event& event,
                      const absl::Status& reason);
  void PutInWindow(const Event& event, size_t bytes, uint8_t error_class);
  void CountSetAside(const InFlightRecord& record);
  void CountUnreportedLetter(const Position& position);
  // Counters of what is not durable before the commit.
  DeliveryCounters& counters_of_events() {
    return awaits_commits_ ? uncommitted_ : counters_;
  }

  DeliveryCounters counters_;
  DeliveryCounters uncommitted_;  // of the transaction
  Dispatch dispatch_;
  AcknowledgementWindow::Options window_options_;
  AcknowledgementWindow window_;
  ResumeFilter resume_filter_;
  HistoryCheck history_;
  // The slot's position when this process came to it, or the writer of a
  // checkpoint without an event: earlier events are not known otherwise. 0/0: a
  // checkpoint knows them.
  Lsn floor_;
  std::optional<absl::Status> divergence_;

  Suspects<Position> suspects_;
  bool one_at_a_time_ = false;
  bool tries_alone_ = false;
  std::function<void()> on_withdrawn_;
  // Records were rejected lately: the next ones go alone, if the sink can.
  bool is_careful_ = false;
  uint32_t accepted_alone_ = 0;  // in a row
  // The newest event whose record went alone. `is_held`: by the stream.
  struct Trial {
    Position position;
    Sequence sequence = 0;
    bool is_held = false;
  };
  std::optional<Trial> trial_;
  std::optional<Refusal> refused_;
  uint64_t rejections_ = 0;
  ErrorActions error_actions_;
  struct Decision {
    Position position;
    ErrorAction action;

    friend bool operator==(const Decision&, const Decision&) = default;
  };
  std::optional<Decision> decision_;
  Skips skips_;
  SetAsideListener on_set_aside_;
  Parking* parking_ = nullptr;
  bool stopped_unparked_ = false;  // stoppage_ could not be parked
  // Events that the brokers rejected, until their dead letters are
  // acknowledged, or they are parked: not more than the window holds. With
  // transactions: until what took their place is committed.
  std::map<Position, absl::Status> dead_;
  // Error classes of letters that were given to parking_ and are not reported.
  // The report of a window that was given up is not heard: then the stream
  // shows the event again, and it is kSettled. Not more than the window holds.
  std::map<Position, uint8_t> unreported_letters_;

  std::optional<Stoppage> stoppage_;
  std::optional<Stoppage> stopped_before_;  // when it was rewound
  std::optional<absl::Status> sink_failure_;
  std::optional<absl::Status> held_;
  Position held_at_;
  std::optional<Position> stood_at_;  // when it was rewound
  std::optional<Position> isolating_;

  LatencyHistogram latency_;
  bool awaits_commits_ = false;
  bool commits_whole_ = false;
  uint64_t uncommitted_records_ = 0;
  bool is_between_transactions_ = true;  // of the source
  HeldLatencies held_latencies_;
};

}  // namespace walpost
