// TransactionalWriter: writes records in Kafka transactions.
//
//   Open ──▶ Begin ──▶ Write, Write, ... ──▶ Commit
//                                        └─▶ Abort
//
// The records of a transaction become visible together, or not at all, to
// consumers with isolation.level=read_committed. Whoever opens a writer with
// the same id takes it over: the calls of the earlier one fail (kAborted).
//
// A topic that is missing is created, if its record says how. Nothing is
// written to a topic where a transaction is open since before
// (HangingTransactionGuard).
//
// Blocks: for verbs and helper threads, never for the loop. Required rights:
// WRITE on the topics, and CREATE if they are created; WRITE and DESCRIBE on
// the transactional id.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/client/handles.h"
#include "kafka/client/producer_options.h"
#include "kafka/topics/offset_regression_detector.h"
#include "kafka/topics/topic_creator.h"
#include "kafka/transactions/in_doubt_requests.h"
#include "outbox/record.h"

namespace walpost {

class TransactionalWriter {
 public:
  // Waits until the transaction of an earlier writer has ended.
  //
  // kInvalidArgument, kFailedPrecondition: the configuration is wrong, or a
  // right is missing. kUnavailable: no broker answers within 30 s.
  static absl::StatusOr<std::unique_ptr<TransactionalWriter>> Open(
      const ProducerOptions& options, const std::string& transactional_id);

  // Nobody else writes to `topic`: a transaction with a record at an offset
  // that `offsets` knows is not committed (kFailedPrecondition, with the reason
  // code of a gap). `offsets` outlives this object.
  void WatchOffsets(std::string topic, PartitionOffsets& offsets) {
    watched_topic_ = std::move(topic);
    offsets_ = &offsets;
  }

  // A request of an earlier transaction had no answer, and may still arrive:
  // the next transaction needs another client.
  bool is_spent() const { return unanswered_->any(); }
  // Opens it again if it is spent.
  absl::Status Begin();
  // Without: kAborted if it is spent.
  absl::Status BeginAsOpened();
  // nullopt: the partition of the record's key. kUnavailable: its topic cannot
  // be created as configured. kResourceExhausted: not now, because an earlier
  // transaction may be open in its topic.
  absl::Status Write(const Record& record, std::optional<int32_t> partition);
  // Returns when the brokers have all of it, durably.
  //
  // kInvalidArgument: they reject a record of it, and nothing was written.
  // kAborted: another writer has the id now. After an error Abort, unless it is
  // kAborted.
  absl::Status Commit();
  absl::Status Abort();
  // The topic that the error of this transaction is about; empty: of none, or
  // not known.
  const std::string& failed_topic() const { return failed_topic_; }

 private:
  explicit TransactionalWriter(const ProducerOptions& options)
      : options_(options) {}

  absl::Status Connect();
  absl::Status WriteTo(const std::string& name, const Record& record,
                       std::optional<int32_t> partition);
  // Returns when the record's topic is there, if walpost creates it.
  absl::Status AwaitTopic(const Record& record);
  // Returns when no earlier transaction is open there; not after long.
  absl::Status AwaitEarlier(const std::string& topic);
  absl::StatusOr<rd_kafka_topic_t*> FindTopic(const std::string& name);
  // There are records without a report, and there may be one yet.
  bool AwaitsReports() const;
  // Takes the reports and answers; notes the first record or topic that was
  // rejected.
  void TakeReports(int timeout_millis);
  absl::Status CheckReport(const rd_kafka_message_t& message);
  void TakeLog(rd_kafka_event_t* event);
  absl::Status Failed(rd_kafka_error_t* error, std::string_view attempted);

  ProducerOptions options_;
  std::string watched_topic_;
  PartitionOffsets* offsets_ = nullptr;  // of watched_topic_
  std::shared_ptr<const InDoubtRequests> unanswered_;
  KafkaClient client_;
  KafkaQueue queue_;  // of the client
  std::optional<TopicCreator> creator_;
  std::map<std::string, KafkaTopic, std::less<>> topics_;
  absl::Status rejected_;  // a record or topic of this transaction
  std::string failed_topic_;
};

}  // namespace walpost
