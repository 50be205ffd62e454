// PollingSender: turns the events of all pollers into records, and passes the
// producer's reports to the poller of each row.
//
//   poller ──Send──▶ PollingSender ──▶ RecordSink
//   RowsInFlight ◀───── PollingSender ◀── reports
//
// Counterpart of the Sender, without an order among rows of different tables.
// The same table decides about a row that was not sent (SendOutcome). While
// there are suspects, rows are sent one at a time.
//
// Shared by the pollers; owned by the PollingRelay. The flights outlive the
// records sent for them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/batch_bisector.h"
#include "delivery/delivery_counters.h"
#include "delivery/delivery_latencies.h"
#include "delivery/diverted_event.h"
#include "delivery/record_sender.h"
#include "delivery/record_sink.h"
#include "outbox/event.h"
#include "outbox/record_builder.h"
#include "polling/rows_in_flight.h"
#include "postgres/tables/fetch_sizer.h"

namespace walpost {

class PollingSender final : public SinkListener {
 public:
  enum class Sent {
    kSent,     // in flight, or set aside
    kRefused,  // this row cannot be delivered as it is
    kNotNow,   // the row was returned; so may be later ones of this turn
  };

  PollingSender(std::unique_ptr<RecordBuilder> builder,
                AcknowledgementWindow::Options limits)
      : record_sender_(std::move(builder), Ordering::kByRow, counters_),
        limits_(limits) {}

  const RecordBuilder& builder() const { return record_sender_.builder(); }
  // Actions for rows that cannot be delivered. Without them such rows are
  // refused.
  void SetErrorActions(const ErrorActions& actions,
                       DivertedEventListener on_diverted) {
    error_actions_ = actions;
    on_diverted_ = std::move(on_diverted);
  }

  // ---- Called by the owner.
  // Sets a new sink, and clears the failure of the last one.
  void SetSink(RecordSink* sink) override;
  // Called when the sink must be replaced: it failed, or Purge was called.
  void SetOnFailure(std::function<void()> on_failure) {
    on_failure_ = std::move(on_failure);
  }
  // True if the brokers have been reachable for long enough to have created
  // topics. Until then an unknown topic is not the fault of a row.
  void SetTopicsAreKnown(bool are_known) { topics_are_known_ = are_known; }
  const std::optional<absl::Status>& failure() const { return failure_; }
  bool purge_wanted() const { return purge_wanted_; }
  // Kafka reports that an operator must act; else ok.
  const absl::Status& trouble() const { return trouble_; }
  // Why the sink has held a row, or was lost with a row, since the last
  // acknowledgement; empty: neither.
  const std::string& delay() const { return delay_; }

  // ---- Called by pollers.
  // True if rows should be read now. False after the sink has held a row: until
  // the next report, or for a time that becomes longer.
  bool WantsRows(MonotonicTime now) const {
    return CanTake() && now >= held_until_;
  }
  // Maximum number of rows to read.
  size_t MaxRows(const FetchSizer& portion) const {
    return batch_bisector_.empty() ? portion.rows() : 1;
  }
  // Takes the row into `flight`, whatever the result. `mapped`: result of the
  // event's mapping; on an error the row is rejected.
  Sent Send(const Event& event, const absl::Status& mapped,
            RowsInFlight::Row row, RowsInFlight& flight);
  // Calls back all records in flight, of every poller: the sink is given up.
  void Purge(const std::string& reason);

  // ---- Called by the sink.
  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnCapacity() override { held_until_ = {}; }
  void OnSinkFailed(const absl::Status& error) override;

  // ---- For the status.
  size_t in_flight_records() const { return records_.size(); }
  size_t in_flight_bytes() const { return bytes_; }
  // Time when the oldest record in flight was sent.
  std::optional<WallTime> oldest() const;
  const DeliveryCounters& counters() const { return counters_; }
  const std::vector<uint64_t>& sent_by_source() const {
    return record_sender_.sent_by_source();
  }
  const DeliveryLatencies& latencies() const {
    return record_sender_.latencies();
  }

 private:
  struct InFlight {
    RowsInFlight* flight;
    size_t bytes;
    WallTime sent_at;
    LatencyLabel label;
    bool is_first;  // nothing else was in flight
    size_t source;  // Event::source
    // Why it is a dead letter; ok: it is not one.
    absl::Status dead = absl::OkStatus();
  };
  // A row that the brokers rejected: it has a dead letter next time.
  struct DeadRow {
    absl::Status reason;
    MonotonicTime until;
  };
  using RowKey = std::pair<const RowsInFlight*, std::string>;
  static constexpr std::chrono::milliseconds kFirstHold{2'000};
  static constexpr std::chrono::milliseconds kMaxHold{8'000};
  // Time limit for suspects; another poller may have their rows.
  static constexpr std::chrono::seconds kSuspicion{60};
  static constexpr size_t kMaxDeadRows = 5'000;

  bool CanTake() const {
    return record_sender_.has_sink() && !failure_ &&
           (batch_bisector_.empty() || records_.empty()) &&
           records_.size() < limits_.max_records && bytes_ < limits_.max_bytes;
  }
  InFlight Take(Sequence sequence);
  bool WasAlone(const InFlight& record, Sequence sequence) const {
    return record.is_first && sequence + 1 == next_;
  }
  RecordSender::Outcome SpareNewTopic(RecordSender::Outcome outcome) const;
  RecordSender::Outcome Offer(const Event& event, const absl::Status& mapped,
                              const RowsInFlight::Row& row,
                              const RowsInFlight& flight);
  // Records what happened to the row: sent, held, or set aside as a dead letter
  // because of `dead`.
  Sent Carry(RecordSender::Outcome outcome, const Event& event,
             RowsInFlight::Row row, RowsInFlight& flight, absl::Status dead);
  void NoteSkip(ErrorAction action, std::string_view row_id, size_t source,
                const absl::Status& reason);
  void OnRejected(const InFlight& record, Sequence sequence,
                  const absl::Status& error);
  void ReportSetAside(ErrorAction action, std::string_view row_id,
                      size_t source, const absl::Status& reason);
  void NoteDelay(const absl::Status& reason);
  void Fail(absl::Status error);
  void Hold(const absl::Status& reason, MonotonicTime now);

  DeliveryCounters counters_;
  RecordSender record_sender_;
  AcknowledgementWindow::Options limits_;
  std::function<void()> on_failure_;
  std::optional<absl::Status> failure_;
  bool purge_wanted_ = false;
  bool topics_are_known_ = true;
  MonotonicTime held_until_{};
  std::chrono::milliseconds hold_ = kFirstHold;
  absl::Status trouble_;
  std::string delay_;

  Sequence next_ = 1;
  absl::flat_hash_map<Sequence, InFlight> records_;
  size_t bytes_ = 0;
  BatchBisector<std::string> batch_bisector_;  // by id
  ErrorActions error_actions_;
  DivertedEventListener on_diverted_;
  absl::flat_hash_map<RowKey, DeadRow> dead_;
  MonotonicTime suspected_until_{};
};

}  // namespace walpost
