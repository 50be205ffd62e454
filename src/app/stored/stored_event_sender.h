// StoredEventSender: sends parked events to Kafka, a batch at a time, through a
// sender and a sink of its own; with delivery.guarantee: exactly_once, in
// transactions of its own (app/stored/transactional_release.h).
//
//   Send ──▶ ... ──▶ TakeResult: which are in Kafka, and which have failed
//
// An event that fails again is dead again, whatever `on_error` says now: an
// operator has decided that it is to be sent. So are events whose topic takes
// nothing for a while, although the brokers answer: others do not wait for it.
// Their records have the header
// walpost-released and no position: consumers that remember positions would
// take them for repeats. So have dead letters that are retried, with the header
// walpost-retried.
//
// Runs on the loop. Owned by the ParkedEventService.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/sink/delivery_run.h"
#include "app/stored/transactional_release.h"
#include "config/config.h"
#include "dead_letters/letter_event.h"
#include "kafka/producer/cluster_state.h"
#include "postgres/parking/parking_table.h"

namespace walpost {

class StoredEventSender {
 public:
  struct Failure {
    size_t row = 0;  // of the batch
    absl::Status reason;
  };
  struct Result {
    std::vector<size_t> sent;  // rows of the batch, in order
    // Rows that cannot be delivered: of a lane, the first one alone.
    std::vector<Failure> failed;
    // Why the rest was not sent, if it is not the fault of a row.
    absl::Status trouble;
    bool is_new_trouble = false;  // not that of the last batch: say it
    // The rows are too old to be sent: read them again.
    bool must_read_again = false;
  };

  // What becomes of a row whose topic takes nothing: it does not exist, may not
  // be written, has no leader, or too few replicas.
  enum class NoTopic { kFails, kWaits };
  enum class Sent { kParkedEvents, kDeadLetters };

  struct Options {
    NoTopic no_topic = NoTopic::kFails;
    Sent sent = Sent::kParkedEvents;
    std::string system_identifier;
    std::string topic = {};  // that they all wait for; empty: none
    // With `topic`, to which nobody else writes: its acknowledged offsets,
    // which the batches add to. Outlives the run.
    OffsetRegressionDetector* offsets = nullptr;
  };
  // `on_result` is called when a batch has ended.
  static absl::StatusOr<std::unique_ptr<StoredEventSender>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      const Options& options, std::function<void()> on_result);

  // Begins a batch; no other may be on its way.
  void Send(std::vector<ParkedRow> rows);
  bool is_sending() const { return is_sending_; }
  const std::vector<ParkedRow>& rows() const { return rows_; }
  // nullopt: none has ended since.
  std::optional<Result> TakeResult() { return std::exchange(result_, {}); }
  // Rows of a batch: one, while a record is looked for that the brokers reject.
  size_t max_rows() const { return one_by_one_ > 0 ? 1 : kMaxRows; }

  // What the batch waits for, if it has got on with nothing for some seconds:
  // "topic orders takes no records since 12 s"; else empty.
  std::string waits_for(MonotonicTime now) const;

  // Ends the batch soon, for good. Its records on their way may still arrive.
  void Stop();
  // Closes the sink; no batch may be on its way.
  boost::asio::awaitable<void> Close();

 private:
  static constexpr size_t kMaxRows = 1'000;

  StoredEventSender(boost::asio::any_io_executor executor, const Config& config,
                    const Options& options,
                    std::unique_ptr<RecordBuilder> builder,
                    std::function<void()> on_result);

  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<Result> SendAll();
  boost::asio::awaitable<Result> SendInTransaction();
  boost::asio::awaitable<void> OfferAll(Result& result);
  std::vector<size_t> OfferOnce(const std::vector<size_t>& rows,
                                Result& result);
  enum class Offered { kAccepted, kNotNow, kNotToTopic };
  absl::StatusOr<Offered> Offer(size_t row);
  boost::asio::awaitable<void> Settle();
  boost::asio::awaitable<void> Wait();
  bool IsAcknowledged(size_t row) const;
  void FailUntaken(Result& result);
  std::vector<size_t> RowsToTry() const;
  void GiveUpTopic(TransactionalRelease::Result& sent, bool are_all);
  void FailInTransaction(const TransactionalRelease::Result& sent,
                         const std::vector<size_t>& tried,
                         Result& result) const;
  void FailFirstOfLanes(
      Result& result,
      const std::function<absl::Status(size_t row)>& judge) const;
  bool TakesNothing(MonotonicTime now) const;
  void AddOffsets(const PartitionOffsets& acknowledged);
  void NoteTrouble(Result& result);
  absl::Status Trouble() const;
  bool IsFaultOfRow(const Result& result) const;
  std::string TopicOf(const ParkedRow& row);
  std::string LaneOfRow(size_t row) const;

  boost::asio::any_io_executor executor_;
  const Config& config_;
  const NoTopic no_topic_;
  const Sent what_;
  const std::string topic_;
  OffsetRegressionDetector* const offsets_;
  // Knowledge of the sinks of this run. `offsets_` itself would also get the
  // acknowledgements of other topics, if the routes have changed: the relay
  // writes there at the same time, and offsets would seem to go back.
  ClusterState memory_;
  DeliveryRun run_;
  LetterEvent event_;
  // nullptr: it sends through run_.
  std::shared_ptr<TransactionalRelease> in_transactions_;
  std::function<void()> on_result_;
  std::vector<ParkedRow> rows_;
  std::vector<std::string> topics_;  // of rows_; empty: not known
  std::map<std::string, absl::Status> topic_troubles_;  // why they take nothing
  std::map<std::string, MonotonicTime> waiting_topics_;  // in transactions
  // As the sender has taken rows_; nullopt: it has not.
  std::vector<std::optional<Sequence>> sequences_;
  std::optional<Result> result_;
  uint64_t ordinal_ = 0;               // of the event offered last
  uint64_t progress_ = 0;              // events taken and acknowledged
  MonotonicTime progress_at_{};        // when it moved last, in this batch
  uint64_t not_delivered_before_ = 0;  // the batch
  size_t one_by_one_ = 0;              // rows that are still to be sent alone
  std::string trouble_;                // of the last batch
  bool is_sending_ = false;
  bool is_stopped_ = false;
};

}  // namespace walpost
