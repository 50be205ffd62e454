// Publisher: the sink that writes to RabbitMQ.
//
// Produce encodes a record as a message; the Connection carries it; the
// server's confirmations become reports. What is in flight, and in which order,
// is decided by RecordsInFlight. Nothing here blocks, and no thread is used.
//
// A connection or a channel that fails ends the sink (OnSinkFailed): what it
// had not confirmed is sent again by the next one. Before the first connection
// it tries the servers in turn, and takes no records.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "delivery/record_sink.h"
#include "rabbitmq/options.h"
#include "rabbitmq/records_in_flight.h"
#include "rabbitmq/server_connector.h"
#include "rabbitmq/server_events.h"

namespace walpost::rabbitmq {

class Publisher final : public Sink {
 public:
  // kInvalidArgument: the options are wrong; names the key. See SinkFactory.
  static absl::StatusOr<std::unique_ptr<Publisher>> Create(
      boost::asio::any_io_executor executor, const RabbitmqOptions& options,
      RecordReports& reports, std::function<void()> on_drained,
      ServerTurn turn);

  absl::Status Produce(const Record& record, Sequence sequence) override;
  // A message without a queue leaves the others alone.
  AfterRejection after_rejection() const override {
    return AfterRejection::kGoesOn;
  }

  void Close(MonotonicTime deadline, std::function<void()> closed) override;

  SinkHealth Health() override;
  NamedCounts AcknowledgedByTopic() const override {
    return records_.AcknowledgedByTopic();
  }
  SinkCapabilities capabilities() const override {
    return {.max_record_bytes = format_.max_message_bytes};
  }

  void ExpectCluster(std::string cluster) override {
    expected_cluster_ = std::move(cluster);
  }
  // A queue does not tell whether it was deleted and made again.
  void ExpectTopics() override {}
  bool credentials_have_changed() const override {
    return connector_->credentials_have_changed();
  }

 private:
  enum class Phase { kOpen, kFailed, kClosing, kClosed };

  Publisher(boost::asio::any_io_executor executor,
            const RabbitmqOptions& options, RecordReports& reports,
            std::function<void()> on_drained);

  Connection::Handlers MakeHandlers();
  void OnReady();
  absl::Status OnFrame(const AmqpFrame& frame);
  absl::Status OnEvent(const ServerEvent& event);
  absl::Status OnClosed(const ServerError& error);
  void OnTurn();
  void SendAll();
  void Report(const RecordsInFlight::Reports& reports);
  void Fail(const absl::Status& error);
  void WaitForTick();
  void Tick();
  void FinishIfDrained();
  void GiveUp();
  void Finish();
  std::string cluster() const;
  absl::Status CheckCluster() const;
  std::string Trouble() const;

  const RabbitmqOptions options_;
  RecordReports& reports_;
  std::function<void()> on_drained_;
  MessageFormat format_;
  ServerEvents events_;
  RecordsInFlight records_;
  boost::asio::steady_timer tick_timer_;
  boost::asio::steady_timer close_timer_;
  Phase phase_ = Phase::kOpen;
  std::optional<std::string> blocked_;  // why the server takes no messages
  bool was_full_ = false;               // Produce has said so
  bool is_finishing_ = false;
  std::string expected_cluster_;
  std::string failure_;
  std::function<void()> closed_;
  std::unique_ptr<ServerConnector> connector_;
  // Shared only to be watched: expires with this object.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace walpost::rabbitmq
