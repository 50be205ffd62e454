// StoredEventSender: sends stored events to Kafka, a batch at a time, through a
// sink of its own. StoredBatch decides; with delivery.guarantee: exactly_once
// the sink has transactions, and its BatchCommitter writes in each what it
// settles.
//
//   Send ──▶ ... ──▶ TakeResult: which are in Kafka, and which have failed
//
// It logs once why a batch is held up.
//
// An event that fails again is dead again, whatever `on_error` says now: an
// operator has decided that it is to be sent. Their records have the header
// walpost-released and no position: consumers that remember positions would
// take them for repeats. So have dead letters that are retried, with the header
// walpost-retried.
//
// Rows that were read before the sink took over may have been sent by its
// predecessor since, and the predecessor's record may not have them any more. A
// successor first ends the session that reads rows, and then fences. So the
// call of Send that opens the sink sends nothing: must_read_again.
//
// Runs on the loop. Owned by the ParkedEventService, the IsolatedTopicResender,
// the DeadLetterRetrier and the DeadLetterResender, one each.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/sink/delivery_run.h"
#include "app/stored/batch_committer.h"
#include "config/config.h"
#include "delivery/sink_knowledge.h"
#include "parking/parked_row.h"
#include "parking/stored_batch.h"

namespace walpost {

class StoredEventSender {
 public:
  using Failure = StoredBatch::Failure;
  struct Result : StoredBatch::Result {
    // The rows are too old to be sent: read them again.
    bool must_read_again = false;
  };

  // The outcome of a row whose topic takes nothing, because it does not exist,
  // may not be written, has no leader, or too few replicas.
  enum class NoTopic { kFails, kWaits };
  enum class Sent { kParkedEvents, kDeadLetters };

  struct Options {
    NoTopic no_topic = NoTopic::kFails;
    Sent sent = Sent::kParkedEvents;
    std::string system_identifier;
    std::string mark = {};   // value of the records' header; empty: the slot
    std::string topic = {};  // that they all wait for; empty: none
    // With `topic`, to which nobody else writes: that of the sinks of the
    // stream. Outlives the run.
    SinkKnowledge* knowledge = nullptr;
    // The transactions under this id have the committer's records, whatever the
    // configuration says; empty: as configured, with a ledger.
    std::string transactional_id = {};
    std::unique_ptr<BatchCommitter> committer = nullptr;
    // The batches only commit (StoredBatch::Options).
    bool commits_only = false;
    // See DeliveryRun::Options.
    std::optional<std::chrono::seconds> silence_limit = {};
  };
  // `on_result` is called when a batch has ended.
  static absl::StatusOr<std::unique_ptr<StoredEventSender>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      Options options, std::function<void()> on_result);

  // Begins a batch; no other may be on its way. One without rows only takes
  // over.
  void Send(std::vector<ParkedRow> rows);
  bool is_sending() const { return is_sending_; }
  const std::vector<ParkedRow>& rows() const { return batch_.rows(); }
  // nullopt: none has ended since.
  std::optional<Result> TakeResult() { return std::exchange(result_, {}); }
  size_t max_rows() const { return batch_.max_rows(); }

  // StoredBatch::waits_for, while a batch is on its way.
  std::string waits_for(MonotonicTime now) const {
    return is_sending_ ? batch_.waits_for(now) : "";
  }

  // Ends the batch soon, for good. Its records on their way may still arrive.
  void Stop();
  // Closes the sink; no batch may be on its way.
  boost::asio::awaitable<void> Close();
  // Stop, and Close once the batch has ended.
  boost::asio::awaitable<void> End();

 private:
  StoredEventSender(boost::asio::any_io_executor executor, const Config& config,
                    Options options, std::unique_ptr<RecordBuilder> builder,
                    std::function<void()> on_result);

  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<absl::Status> Open(bool& must_read_again);
  boost::asio::awaitable<void> SendAll();
  void LogTrouble(std::string_view trouble) const;

  boost::asio::any_io_executor executor_;
  const std::string nothing_moves_;            // the begin of its log lines
  std::unique_ptr<TopicKnowledge> knowledge_;  // of the one topic
  DeliveryRun run_;
  StoredBatch batch_;
  std::unique_ptr<BatchCommitter> committer_;  // with transactions
  bool has_taken_over_ = false;
  std::function<void()> on_result_;
  std::optional<Result> result_;
  bool is_sending_ = false;
};

}  // namespace walpost
