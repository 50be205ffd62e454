// NatsSink: publishes records to JetStream, on the event loop.
//
//   Produce ──▶ StreamFinder ──▶ InFlight ──▶ NatsClient ──▶ server
//   reports ◀──────────────────  InFlight ◀── NatsClient ◀── PubAck
//
// A record is acknowledged by the answer of the stream that was looked at, and
// by nothing else. One key has one record on its way. After a record was not
// stored, or that is not known, the sink sends nothing more: it reports what it
// still learns, and its owner makes another, with another connection.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "delivery/record_sink.h"
#include "log/cause_log.h"
#include "nats/connection_trouble.h"
#include "nats/in_flight.h"
#include "nats/known_streams.h"
#include "nats/nats_client.h"
#include "nats/options.h"
#include "nats/pending_questions.h"
#include "nats/stream_finder.h"

namespace walpost {

class NatsSink final : public Sink {
 public:
  // Starts to connect; does not wait. `reports` outlives the sink.
  // `known` has the knowledge of earlier sinks, and `errors` what they logged.
  //
  // kInvalidArgument: an option is wrong; names the key. kUnavailable: a
  // credential cannot be read now, or no thread or descriptor is left.
  static absl::StatusOr<std::unique_ptr<NatsSink>> Create(
      boost::asio::any_io_executor executor, const NatsOptions& options,
      RecordReports& reports, std::function<void()> on_drained,
      std::shared_ptr<KnownStreams> known, std::shared_ptr<CauseLog> errors);

  ~NatsSink() override;

  absl::Status Produce(const Record& record, Sequence sequence) override;
  AfterRejection after_rejection() const override;
  void Close(MonotonicTime deadline, std::function<void()> closed) override;

  SinkHealth Health() override;
  NamedCounts AcknowledgedByTopic() const override {
    return acknowledged_.counts();
  }
  SinkCapabilities capabilities() const override {
    return {.max_record_bytes = max_payload_bytes_};
  }
  // NATS has no id of a cluster (kUnnamedNats). The streams have identities.
  void ExpectCluster(std::string cluster) override {
    expected_cluster_ = std::move(cluster);
  }
  void ExpectTopics() override {
    finder_.Expect();
    SendQuestions();
  }
  bool credentials_have_changed() const override;

 private:
  NatsSink(boost::asio::any_io_executor executor, const NatsOptions& options,
           std::unique_ptr<NatsClient> client, RecordReports& reports,
           std::function<void()> on_drained,
           std::shared_ptr<KnownStreams> known,
           std::shared_ptr<CauseLog> errors);

  absl::Status ListenForEvents();
  void WaitForEvents();
  void DrainEvents();
  void Handle(NatsEvent& event, WallTime now);
  void OnConnected(size_t max_payload_bytes);
  void OnPublished(Sequence sequence, const PublishAnswer& answer,
                   WallTime now);
  void OnStored(Sequence sequence, const PublishAnswer& answer, WallTime now);
  void OnAnswered(uint64_t number, const std::string& json);
  void OnError(const std::string& text);
  void OnClosed(const std::string& text);

  void WaitForTick();
  void Tick();
  void GiveUpLateAnswers(MonotonicTime now);
  void SendQuestions();
  absl::Status CheckCluster() const;
  absl::Status CheckSize(const NatsMessage& message,
                         const StreamInfo& stream) const;
  // The next record of a key, if there is one and it may be sent.
  void SendNext(KeyOrder::Lane lane);
  void Send(NatsMessage message, Sequence sequence, const std::string& stream);
  // The record was not delivered: no further one is sent, unless the sink goes
  // on after it.
  void FailRecord(Sequence sequence, const absl::Status& error);
  void Fail(const absl::Status& error);

  boost::asio::awaitable<void> CloseBy(MonotonicTime deadline);

  NatsOptions options_;
  absl::StatusOr<Sha256Digest> credentials_;
  std::unique_ptr<NatsClient> client_;
  RecordReports& reports_;
  std::function<void()> on_drained_;
  boost::asio::posix::stream_descriptor events_;
  boost::asio::steady_timer close_timer_;
  boost::asio::steady_timer tick_timer_;
  std::shared_ptr<KnownStreams> known_;
  StreamFinder finder_;
  InFlight in_flight_;
  PendingQuestions asked_;
  const std::shared_ptr<CauseLog> errors_;  // of the servers
  bool is_connected_ = false;
  bool has_answered_ = false;  // JetStream has
  size_t max_payload_bytes_ = kDefaultMaxPayload;
  MonotonicTime heard_at_{};
  ConnectionTrouble trouble_;
  std::string expected_cluster_;
  NamedCounter acknowledged_;  // by subject
  absl::Status failed_;
  bool has_reported_failure_ = false;
  bool closed_ = false;

  // Streams are not counted.
  static constexpr size_t kMaxStreams = 1'000'000;
  // nats-server's, until it has said its own.
  static constexpr size_t kDefaultMaxPayload = size_t{1} << 20;
};

}  // namespace walpost
