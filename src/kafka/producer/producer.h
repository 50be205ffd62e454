// Producer: the idempotent producer of librdkafka, on the event loop.
//
// Records enter with Produce. Reports arrive through an eventfd that librdkafka
// writes to, are drained in limited portions, and go to a RecordReports. The
// producing thread also frees the reports: freeing on another thread halves the
// throughput.
//
// After a fatal error it accepts nothing more; the owner calls Close, destroys
// it and creates a new one. Fatal errors are part of normal operation.
//
// With a transactional id its records are written in transactions
// (TransactionClient).
//
// Settings: idempotent, gapless, without message timeout, so that a record is
// either acknowledged or known not to be, and none overtakes another of its
// partition (docs/delivery.md). Two things are not covered by the settings and
// done here: a partition's first record is sent alone (FirstRecordBarrier), and
// an acknowledgement without an offset is ignored, because librdkafka derives
// it from that of a later record.
#pragma once

#include <librdkafka/rdkafka.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "delivery/record_sink.h"
#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/credential_reloader.h"
#include "kafka/client/handles.h"
#include "kafka/client/producer_options.h"
#include "kafka/client/response_observer.h"
#include "kafka/producer/acknowledgement_check.h"
#include "kafka/producer/broker_liveness.h"
#include "kafka/producer/brokerless_detector.h"
#include "kafka/producer/cluster_state.h"
#include "kafka/producer/missing_topic_detector.h"
#include "kafka/producer/producer_statistics.h"
#include "kafka/producer/topic_cache.h"
#include "kafka/topics/last_stable_offsets.h"
#include "kafka/topics/offset_regression_detector.h"
#include "kafka/topics/topic_creator.h"
#include "kafka/topics/topic_identity.h"
#include "kafka/transactions/hanging_transaction_guard.h"
#include "kafka/transactions/transaction_client.h"

namespace walpost {

class Producer final : public Sink {
 public:
  // Starts librdkafka; does not wait for a broker. `reports` outlives the
  // producer. `on_drained` is called after each portion of reports. `state`,
  // if any, outlives the producer, and has the knowledge of earlier producers.
  //
  // kInvalidArgument: a property must not be set. kFailedPrecondition: a
  // property is unknown or malformed.
  static absl::StatusOr<std::unique_ptr<Producer>> Create(
      boost::asio::any_io_executor executor, const ProducerOptions& options,
      RecordReports& reports, std::function<void()> on_drained,
      ClusterState* state = nullptr);

  ~Producer() override;

  absl::Status Produce(const Record& record, Sequence sequence) override;
  AfterRejection after_rejection() const override;
  size_t partitions() const override { return partitions_; }
  void Withdraw() override;

  void Close(MonotonicTime deadline, std::function<void()> closed) override;

  SinkHealth Health() override;
  NamedCounts AcknowledgedByTopic() const override { return topics_->Counts(); }
  SinkCapabilities capabilities() const override;
  SinkTransactions* transactions() override {
    return transactions_ ? &*transactions_ : nullptr;
  }

  void ExpectCluster(std::string cluster) override {
    expected_cluster_ = std::move(cluster);
  }
  // The topics are those in the state, which reports if they are others.
  void ExpectTopics() override {
    if (topic_identity_) topic_identity_->Expect();
  }

  bool credentials_have_changed() const override {
    return credentials_.have_changed();
  }
  const CredentialReloader& credentials() const { return credentials_; }

  // Accepted records whose report has not been drained.
  int queued() const {
    return client_ == nullptr ? 0 : rd_kafka_outq_len(client_);
  }

 private:
  Producer(boost::asio::any_io_executor executor, rd_kafka_t* client,
           std::shared_ptr<const LastAnswer> answer, TopicCache::Limit limit,
           CredentialReloader credentials, RecordReports& reports,
           std::function<void()> on_drained, ClusterState* state);

  boost::asio::awaitable<void> CloseBy(MonotonicTime deadline);
  void WatchLastStableOffsets(ClusterState* state);
  absl::Status ListenOnEventFd();
  void WaitForReports();
  // Handles at most kReportsPerTurn; true: there may be more.
  bool DrainReports();
  size_t HandleEvent(rd_kafka_event_t* event);
  void HandleStatistics(const char* json);
  // Looks after the brokers about once a second.
  void WaitForTick();
  void Tick();
  void HandleLog(rd_kafka_event_t* event);
  size_t HandleDeliveryReports(rd_kafka_event_t* event);
  void HandleDeliveryReport(const rd_kafka_message_t& message, WallTime now);
  // The id of the cluster; empty: no broker has reported it yet.
  const std::string& cluster_id();
  void HurryToConnect();
  // Notes why no broker is reached, if kafka.token_command has given no token.
  void NoteMissingToken(SinkHealth& health) const;
  absl::Status CheckCluster();
  // Gives up the client. Returns the function that destroys it, which waits for
  // the client's threads, and those for name servers.
  std::function<bool()> GiveUpClient();
  void HandleError(rd_kafka_event_t* event);
  bool HandleTransactionError(std::string_view text);
  void StartTransactionOver();

  OffsetRegressionDetector own_offsets_;
  std::shared_ptr<TopicCache> topics_;  // outlives the client, which calls it
  rd_kafka_t* client_;                  // nullptr: given up
  KafkaQueue queue_;
  CredentialReloader credentials_;
  RecordReports& reports_;
  std::function<void()> on_drained_;
  boost::asio::posix::stream_descriptor eventfd_;
  boost::asio::steady_timer close_timer_;
  boost::asio::steady_timer tick_timer_;
  ProducerStatistics statistics_;
  size_t partitions_ = 0;  // as of the last tick
  MissingTopicDetector missing_;
  BrokerLiveness liveness_;
  TopicCreator creator_;
  std::optional<TopicIdentity> topic_identity_;     // with a state
  std::optional<TransactionClient> transactions_;   // with a transactional id
  std::optional<HangingTransactionGuard> earlier_;  // likewise
  std::optional<LastStableOffsets> last_stable_offsets_;  // with both
  const LsoLagMonitor* hidden_ = nullptr;                 // likewise
  ConnectionDiagnosis connection_diagnosis_;
  BrokerlessDetector brokerless_;
  std::string probed_topic_;
  std::string checkpoint_topic_;
  bool one_at_a_time_ = false;
  // True since a record was withdrawn: records of a transaction then go alone,
  // as the Sender sends them.
  bool has_withdrawn_ = false;
  bool is_starting_over_ = false;
  std::string cluster_id_;
  std::string expected_cluster_;
  AcknowledgementCheck acknowledgement_check_;
  bool closed_ = false;
};

}  // namespace walpost
