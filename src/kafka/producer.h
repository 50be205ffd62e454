// Producer: the idempotent producer of librdkafka, on the event loop.
//
// Records go in with Produce; reports come out through an eventfd that
// librdkafka writes to, are drained in bounded portions, and go to a
// RecordReports. The thread that produces also frees the reports: freeing on
// another one halves the throughput.
//
// After a fatal error it accepts nothing more; the owner calls Close, throws
// it away and makes a new one. Fatal errors are part of normal life.
//
// Settings: idempotent, gapless, without message timeout, so that a record is
// either acknowledged or known not to be, and none overtakes another of its
// partition (docs/delivery.md). Two things they do not see to are done here: a
// partition's first record goes alone (PartitionStarts), and an acknowledgement
// that names no offset counts for none: librdkafka concludes it from that of a
// later record.
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
#include "kafka/acknowledgement_check.h"
#include "kafka/broker_pulse.h"
#include "kafka/broker_trouble.h"
#include "kafka/credential_watch.h"
#include "kafka/handles.h"
#include "kafka/kafka_memory.h"
#include "kafka/offset_watch.h"
#include "kafka/producer_options.h"
#include "kafka/producer_statistics.h"
#include "kafka/topic_cache.h"
#include "kafka/topic_identity.h"

namespace walpost {

class Producer final : public RecordSink {
 public:
  // Starts librdkafka; does not wait for a broker. `reports` outlives the
  // producer. `on_drained` is called after each portion of reports. `memory`,
  // if any, outlives the producer, and knows what others before it did.
  //
  // kInvalidArgument: a property is not to be set. kFailedPrecondition: one
  // is unknown or malformed.
  static absl::StatusOr<std::unique_ptr<Producer>> Create(
      boost::asio::any_io_executor executor, const ProducerOptions& options,
      RecordReports& reports, std::function<void()> on_drained,
      KafkaMemory* memory = nullptr);

  ~Producer() override;

  absl::Status Produce(const Record& record, Sequence sequence) override;

  // Gives in-flight requests until `deadline`, then purges what is left and
  // drains its reports. Afterwards every record has had its report, and the
  // client sends nothing more, so that another producer may begin.
  boost::asio::awaitable<void> Close(MonotonicTime deadline);

  // The id of the cluster; empty: no broker has told it yet.
  const std::string& cluster_id();
  // Where records may go; empty: to any cluster. Until it is known that this is
  // the one, nothing is accepted (kUnavailable).
  void ExpectCluster(std::string cluster) {
    expected_cluster_ = std::move(cluster);
  }

  // Nothing goes to the topics that the memory knows until they are known to be
  // the same ones; if they are not, the memory says so.
  void ExpectTopics() {
    if (topic_identity_) topic_identity_->Expect();
  }

  // Other credentials are there than those that this producer was made with:
  // the owner replaces it, once these have been rejected or at once.
  const CredentialWatch& credentials() const { return credentials_; }

  // Brokers that a connection is up to, as of the last second.
  size_t brokers_up() const { return statistics_.brokers_up; }
  // When one of them last sent something; of an idle producer, too.
  MonotonicTime brokers_heard_at() const { return pulse_.heard_at(); }
  // Why none can be reached, and what to look at; or empty.
  const std::string& broker_trouble() const { return broker_trouble_.text(); }
  // A topic that records wait for, though the brokers do not know it; or empty.
  const std::string& homeless_topic() const {
    return statistics_.homeless_topic;
  }

  // Records accepted whose report has not been drained.
  int queued() const {
    return client_ == nullptr ? 0 : rd_kafka_outq_len(client_);
  }

 private:
  Producer(boost::asio::any_io_executor executor, rd_kafka_t* client,
           CredentialWatch credentials, RecordReports& reports,
           std::function<void()> on_drained, KafkaMemory* memory);

  absl::Status ListenOnEventFd();
  void WaitForReports();
  // Handles at most kReportsPerTurn; true when there may be more.
  bool DrainReports();
  size_t HandleEvent(rd_kafka_event_t* event);
  void HandleStatistics(const char* json);
  size_t HandleDeliveryReports(rd_kafka_event_t* event);
  void HandleDeliveryReport(const rd_kafka_message_t& message, WallTime now);
  absl::Status CheckCluster();
  // Hands the client over to be destroyed, which waits for its threads, and
  // those for name servers. Returns what does that.
  std::function<bool()> GiveUpClient();
  void HandleError(rd_kafka_event_t* event);

  OffsetWatch own_offsets_;
  std::shared_ptr<TopicCache> topics_;  // outlives the client, which calls it
  rd_kafka_t* client_;                  // nullptr: given up
  KafkaQueue queue_;
  CredentialWatch credentials_;
  RecordReports& reports_;
  std::function<void()> on_drained_;
  boost::asio::posix::stream_descriptor eventfd_;
  boost::asio::steady_timer close_timer_;
  ProducerStatistics statistics_;
  BrokerPulse pulse_;
  std::optional<TopicIdentity> topic_identity_;  // with a memory
  BrokerTrouble broker_trouble_;
  int brokerless_reports_ = 0;  // statistics in a row
  std::string cluster_id_;
  std::string expected_cluster_;
  AcknowledgementCheck acknowledgement_check_;
  bool closed_ = false;
};

}  // namespace walpost
