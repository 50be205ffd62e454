// Sender: delivers a sequence of events in its order. It decides whether each
// event is sent, waits, is set aside or stops the flow.
//
//   source ──Take──▶ Sender ──Produce──▶ sink
//                      ▲└──▶ dead letter, Parking, skip
//                      └─── reports of the sink
//
// Events are distinguished by their positions, which grow along the sequence;
// an event that is repeated has the same one. They need not be of the WAL: the
// rows of a table are just numbered. A source that must know up to which event
// all are done adds watermarks (acknowledgement_window.h).
//
// The contract with the source: an event that is not taken is offered again,
// and no other before it, once MayTake() is true. With the sink: RecordSink.
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
#include <vector>

#include "absl/status/status.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/batch_bisector.h"
#include "delivery/blocked_event.h"
#include "delivery/delivery_counters.h"
#include "delivery/delivery_latencies.h"
#include "delivery/diverted_event.h"
#include "delivery/duplicate_filter.h"
#include "delivery/error_actions.h"
#include "delivery/event_consumer.h"
#include "delivery/held_latencies.h"
#include "delivery/parking.h"
#include "delivery/record_sender.h"
#include "delivery/record_sink.h"
#include "delivery/recorded_events.h"
#include "delivery/transaction_options.h"
#include "outbox/event.h"
#include "outbox/record_builder.h"

namespace walpost {

// A record that the brokers rejected while it was sent alone.
struct RejectedRecord {
  Position position;
  absl::Status reason;
  bool is_of_dead_letter = false;
};

class Sender final : public SinkListener {
 public:
  // Number of records in a row that must be accepted alone before batches are
  // sent again.
  static constexpr uint32_t kMinAcceptedAlone = 50;

  using Offer = EventConsumer::Offer;

  Sender(std::unique_ptr<RecordBuilder> builder,
         AcknowledgementWindow::Options window);

  // ---- Called by the owner.

  void SetSink(RecordSink* sink) override { record_sender_.SetSink(sink); }
  // Timeline of the server, for the position header.
  void SetTimeline(uint32_t timeline) { record_sender_.SetTimeline(timeline); }
  // Actions for events that cannot be delivered. Without them such an event
  // stops the flow.
  void SetErrorActions(const ErrorActions& actions,
                       DivertedEventListener on_diverted) {
    error_actions_ = actions;
    on_diverted_ = std::move(on_diverted);
  }

  // After a rejection, sends records one at a time, so that the next rejected
  // one does not cost another sink: its event is held until the brokers have
  // decided about its record. For a source that offers a held event again after
  // each report, and a sink that goes on (RecordSink::AfterRejection).
  // `on_withdrawn` is called when a record that was sent is withdrawn.
  void TryAlone(std::function<void()> on_withdrawn) {
    tries_alone_ = true;
    on_withdrawn_ = std::move(on_withdrawn);
  }
  // True if the next sink should take records one at a time.
  bool is_careful() const { return is_careful_; }

  // The place where events are parked; nullptr: none. It must outlive its use.
  void SetParking(Parking* parking) { parking_ = parking; }

  // Events to leave out when they are offered, by the decision of an operator:
  // "alice: paid by hand". Forgotten by StartOver.
  using Skips = RecordedEvents<std::string>;
  void SetSkips(Skips skips) { skips_ = std::move(skips); }

  // An operator's decision about the event that the flow has stopped before:
  // kSkip or kDeadLetter. Returns false if the flow does not stand there, or
  // still stands there after the decision. Forgotten by StartOver.
  bool Decide(const Position& position, ErrorAction action);

  // Gives up everything in flight because the sink was lost. The source must
  // start over behind the acknowledged event of the window; later events that
  // are also acknowledged are not sent again (DuplicateFilter).
  void Rewind();
  // Also forgets what the brokers have acknowledged.
  void ForgetProgress();
  // Forgets every position. The sink and its reports no longer exist.
  void StartOver();

  // Continues from earlier progress, unless this one is further. Requires that
  // nothing is in flight.
  void Resume(Watermark passed, const EventIdentity& acknowledged) {
    window_.Resume(passed, acknowledged);
  }
  // The source repeats its events from `first` on. Another sender has dealt
  // with those before it.
  void BeginSequence(const Position& first);

  // Sends the events from `first` to `last` one at a time: a record of a batch
  // that the brokers rejected is among them. Forgotten by StartOver.
  void Suspect(const Position& first, const Position& last) {
    batch_bisector_.Add(first);
    batch_bisector_.Add(last);
  }

  // True if the flow goes on after an event with this error.
  bool Passes(const absl::Status& reason) const {
    return error_actions_.For(reason) != ErrorAction::kStop;
  }

  // The oldest event that the brokers do not take or acknowledge, also while
  // the flow returns to it. nullopt: there is none, or its topic is not the
  // cause.
  std::optional<Position> standing_at() const;
  // Parks this event, at which the flow stands, and later ones of its topic
  // (Parking::Isolate). If it is in flight, the sink must be replaced.
  void Isolate(const Position& position);

  // Fewer events are parked than before: a flow that stopped for lack of room
  // may continue.
  void OnParkingCapacity();

  // The sink has transactions: events reach consumers with OnCommitted, which
  // is when their latency ends, and when what was set aside counts. With
  // kSource, a transaction of the source is committed as a whole.
  using Boundary = TransactionOptions::Boundary;
  void AwaitCommits(Boundary boundary = Boundary::kEvent) {
    awaits_commits_ = true;
    commits_whole_ = boundary == Boundary::kSource;
  }
  void OnCommitted(WallTime now);
  // A part of a source transaction that must be committed as a whole was sent.
  bool IsInsideWholeTransaction() const {
    return commits_whole_ && !is_between_transactions_ &&
           uncommitted_records_ > 0;
  }

  // Offers again the records that a sink did not take.
  void RetryHeld() { held_.reset(); }

  // ---- Called by the source.

  bool CanTake() const {
    return record_sender_.has_sink() && !blocked_event_ && !sink_failure_ &&
           !held_ && window_.HasCapacity() && !trial_is_open() &&
           !MustCommitFirst() && (!one_at_a_time_ || window_.empty());
  }
  // The same for a known event (EventConsumer::OnEvent).
  bool MayTake(const Event& event, const absl::Status& mapped) const;
  Offer OnEvent(const Event& event,
                const absl::Status& mapped = absl::OkStatus()) {
    return MayTake(event, mapped) ? Take(event, mapped) : Offer::kBackpressure;
  }
  // Requires MayTake.
  Offer Take(const Event& event, const absl::Status& mapped);
  // The transaction of the source ends.
  void OnTransactionEnd();
  void AddWatermark(Watermark watermark) { window_.AddWatermark(watermark); }

  // ---- Called by the sink.

  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnCapacity() override;
  void OnSinkFailed(const absl::Status& error) override {
    if (!sink_failure_) sink_failure_ = error;
  }

  // ---- State.

  bool IsDrained() const { return window_.empty(); }
  const AcknowledgementWindow& window() const { return window_; }
  const RecordBuilder& builder() const { return record_sender_.builder(); }

  // The event that the flow stopped before, for an operator to act on.
  const std::optional<BlockedEvent>& stoppage() const { return blocked_event_; }
  // The same, also while the flow is on its way back to this event.
  const std::optional<BlockedEvent>& known_stoppage() const {
    return blocked_event_ ? blocked_event_ : stopped_before_;
  }
  // The event that the brokers rejected alone: once the sink is replaced, the
  // flow stops before it.
  const std::optional<RejectedRecord>& refused() const { return refused_; }
  // How many events the brokers have rejected alone so far.
  uint64_t rejections() const { return rejections_; }
  // True if the brokers rejected a batch: its records are sent alone until the
  // rejected one is found.
  bool has_suspects() const { return !batch_bisector_.empty(); }
  // The error because of which the sink must be replaced and Rewind called.
  const std::optional<absl::Status>& sink_failure() const {
    return sink_failure_;
  }
  // Why the sink does not take the current event now; it may later.
  const std::optional<absl::Status>& held() const { return held_; }

  const DeliveryCounters& counters() const { return counters_; }
  const std::vector<uint64_t>& sent_by_source() const {
    return record_sender_.sent_by_source();
  }
  // From commit to acknowledgement.
  const DeliveryLatencies& latencies() const {
    return record_sender_.latencies();
  }

 private:
  bool IsSuspect(const Event& event);
  void OnRefused(const InFlightRecord& record, const absl::Status& error,
                 bool was_alone);
  Offer Decide(const Event& event, const absl::Status& mapped);
  // True if the record of a held event is with the brokers.
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
  void ForgetDead();
  const absl::Status* RefusalOf(const Position& position) const;
  bool PassOver(const Event& event);
  Offer Carry(const Event& event, RecordSender::Outcome outcome,
              uint8_t error_class = kNoErrorClass);
  ErrorAction ActionFor(const Position& position,
                        const absl::Status& reason) const;
  Offer Refuse(const Event& event, absl::Status reason);
  Offer StopBeforeDeadLetter(const Event& event, const absl::Status& error);
  Offer SendDeadLetter(const Event& event, const absl::Status& reason);
  Offer Skip(ErrorAction action, const Event& event,
             const absl::Status& reason);
  const std::string* DecisionToSkip(const Event& event);
  Offer SkipAsDecided(const Event& event, const std::string& decision);
  std::string DigestOf(const Event& event) const;
  const std::string& TableOf(const Event& event) const;
  bool IsDecidedAbout(const Position& position) const {
    return decision_ && decision_->first == position;
  }
  bool IsRefused(const Event& event) const {
    return refused_ && refused_->position == event.position;
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
  using Kind = InFlightRecord::Kind;
  void PutInWindow(const Event& event, size_t bytes, uint8_t error_class,
                   Kind kind, LatencyLabel label = {});
  void CountSetAside(const InFlightRecord& record);
  void CountUnreportedLetter(const Position& position);
  // Counters of what is not durable before the commit.
  DeliveryCounters& counters_of_events() {
    return awaits_commits_ ? uncommitted_ : counters_;
  }

  DeliveryCounters counters_;
  DeliveryCounters uncommitted_;  // of the transaction
  RecordSender record_sender_;
  AcknowledgementWindow::Options window_options_;
  AcknowledgementWindow window_;
  DuplicateFilter duplicate_filter_;

  BatchBisector<Position> batch_bisector_;
  bool one_at_a_time_ = false;
  bool tries_alone_ = false;
  std::function<void()> on_withdrawn_;
  // True after a rejection: the next records go alone, if the sink can do that.
  bool is_careful_ = false;
  uint32_t accepted_alone_ = 0;  // in a row
  // The newest event whose record went alone. `is_held`: by the source.
  struct Trial {
    Position position;
    Sequence sequence = 0;
    bool is_held = false;
  };
  std::optional<Trial> trial_;
  std::optional<RejectedRecord> refused_;
  uint64_t rejections_ = 0;
  ErrorActions error_actions_;
  std::optional<std::pair<Position, ErrorAction>> decision_;  // an operator's
  Skips skips_;
  DivertedEventListener on_diverted_;
  Parking* parking_ = nullptr;
  bool stopped_unparked_ = false;  // blocked_event_ could not be parked
  // Events that the brokers rejected, until their dead letters are
  // acknowledged, or they are parked: not more than the window holds. With
  // transactions: until what took their place is committed.
  std::map<Position, absl::Status> dead_;
  // Error classes of letters that were given to parking_ and are not reported.
  // Reports for an abandoned window are ignored; the stream then delivers the
  // event again and finds it settled. Not more than the window holds.
  std::map<Position, uint8_t> unreported_letters_;

  std::optional<BlockedEvent> blocked_event_;
  std::optional<BlockedEvent> stopped_before_;  // when it was rewound
  std::optional<absl::Status> sink_failure_;
  std::optional<absl::Status> held_;
  Position held_at_;
  std::optional<Position> stood_at_;  // when it was rewound
  std::optional<Position> isolating_;

  bool awaits_commits_ = false;
  bool commits_whole_ = false;
  uint64_t uncommitted_records_ = 0;
  bool is_between_transactions_ = true;  // of the source
  HeldLatencies held_latencies_;
};

}  // namespace walpost
