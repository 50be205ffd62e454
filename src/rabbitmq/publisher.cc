#include "rabbitmq/publisher.h"

#include <boost/asio/post.hpp>
#include <utility>
#include <variant>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "rabbitmq/setup_calls.h"

namespace walpost::rabbitmq {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Encoded messages in flight. The window of the sender is the usual limit.
constexpr size_t kMaxBytes = size_t{64} << 20;
// Bytes for the socket; more messages wait.
constexpr size_t kMaxUnsent = size_t{1} << 20;
constexpr milliseconds kTick{500};
// For the server's answer to connection.close.
constexpr milliseconds kFarewell{500};

}  // namespace

absl::StatusOr<std::unique_ptr<Publisher>> Publisher::Create(
    asio::any_io_executor executor, const RabbitmqOptions& options,
    RecordReports& reports, std::function<void()> on_drained, ServerTurn turn) {
  std::unique_ptr<Publisher> publisher(
      new Publisher(executor, options, reports, std::move(on_drained)));
  MessageFormat& format = publisher->format_;
  WALPOST_ASSIGN_OR_RETURN(format.exchange,
                           NameTemplate::Parse(options.exchange));
  WALPOST_ASSIGN_OR_RETURN(format.routing_key,
                           NameTemplate::Parse(options.routing_key));
  format.content_type = options.content_type;
  format.max_message_bytes = options.max_message_bytes;
  WALPOST_ASSIGN_OR_RETURN(
      std::vector<ServerPlace> addresses,
      ParseRabbitmqAddresses(options.nodes, options.tls.enabled));
  WALPOST_ASSIGN_OR_RETURN(std::vector<AmqpCall> calls,
                           MakeSetupCalls(options));
  publisher->connector_ = std::make_unique<ServerConnector>(
      executor, options, std::move(addresses), std::move(calls),
      std::move(turn), publisher->MakeHandlers());
  publisher->connector_->Start();
  publisher->WaitForTick();
  return publisher;
}

Publisher::Publisher(asio::any_io_executor executor,
                     const RabbitmqOptions& options, RecordReports& reports,
                     std::function<void()> on_drained)
    : options_(options),
      reports_(reports),
      on_drained_(std::move(on_drained)),
      events_(options.max_message_bytes),
      tick_timer_(executor),
      close_timer_(executor) {}

// The connector is destroyed first, and calls none of them then.
Connection::Handlers Publisher::MakeHandlers() {
  return {
      .on_ready = [this] { OnReady(); },
      .on_frame = [this](const AmqpFrame& frame) { return OnFrame(frame); },
      .on_turn = [this] { OnTurn(); },
      .on_failed = [this](const absl::Status& error) { Fail(error); },
  };
}

void Publisher::OnReady() {
  format_.max_frame = connector_->ready()->handshake().facts().max_frame;
  if (phase_ != Phase::kOpen) return;
  reports_.OnCapacity();
  on_drained_();
}

// ---- Records in.

std::string Publisher::cluster() const {
  const Connection* connection = connector_->ready();
  if (connection == nullptr) return "";
  return ClusterIdOf(connection->handshake().facts());
}

// A record that another cluster acknowledges is lost.
absl::Status Publisher::CheckCluster() const {
  if (expected_cluster_.empty() || cluster() == expected_cluster_) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(fmt::format(
      "the server is of RabbitMQ cluster {}, and not of {}, which has the "
      "events so far",
      cluster(), expected_cluster_));
}

absl::Status Publisher::Produce(const Record& record, Sequence sequence) {
  if (phase_ == Phase::kFailed) return absl::AbortedError(failure_);
  if (phase_ != Phase::kOpen) {
    return absl::ResourceExhaustedError("this sink is closed");
  }
  if (connector_->ready() == nullptr) {
    return absl::ResourceExhaustedError("no RabbitMQ server is reached yet");
  }
  WALPOST_RETURN_IF_ERROR(CheckCluster());
  const bool is_full = blocked_ || records_.bytes() >= kMaxBytes;
  if (is_full) {
    was_full_ = true;
    return absl::ResourceExhaustedError(
        blocked_ ? Trouble() : "the messages in flight have no room for more");
  }
  WALPOST_ASSIGN_OR_RETURN(Message message,
                           MakeMessage(format_, kRabbitmqChannel, record));
  records_.Add(sequence, record.topic,
               KeyOrder::LaneOf(record.topic, record.key), std::move(message));
  SendAll();
  return absl::OkStatus();
}

void Publisher::SendAll() {
  Connection* connection = connector_->ready();
  if (connection == nullptr || blocked_ || is_finishing_) return;
  const MonotonicTime now = Clock::now();
  while (connection->unsent_bytes() < kMaxUnsent) {
    const Message* message = records_.NextToSend(now);
    if (message == nullptr) return;
    connection->Send(message->frames);
  }
}

// ---- Confirmations.

absl::Status Publisher::OnFrame(const AmqpFrame& frame) {
  WALPOST_ASSIGN_OR_RETURN(const std::optional<ServerEvent> event,
                           events_.OnFrame(frame));
  return event ? OnEvent(*event) : absl::OkStatus();
}

absl::Status Publisher::OnEvent(const ServerEvent& event) {
  if (const auto* ack = std::get_if<AckEvent>(&event)) {
    WALPOST_ASSIGN_OR_RETURN(const RecordsInFlight::Reports reports,
                             records_.OnAck(*ack, Clock::now()));
    Report(reports);
    return absl::OkStatus();
  }
  if (const auto* back = std::get_if<ReturnEvent>(&event)) {
    return records_.OnReturn(*back);
  }
  if (const auto* blocked = std::get_if<BlockedEvent>(&event)) {
    blocked_ = blocked->reason;
    if (blocked_) LogWarn("{}", Trouble());
    return absl::OkStatus();
  }
  if (const auto* closed = std::get_if<ClosedEvent>(&event)) {
    return OnClosed(closed->error);
  }
  return absl::UnavailableError("the connection is closed");
}

absl::Status Publisher::OnClosed(const ServerError& error) {
  absl::Status status =
      StatusFromServer(error, "publishing", connector_->login());
  const size_t large = TooLargeMessageOf(error);
  const auto sequence = large > 0 ? records_.FindBySize(large) : std::nullopt;
  if (sequence) {
    status =
        Undeliverable(kReasonRecordTooLarge, std::string(status.message()));
    Report(records_.TakeOne(*sequence, status));
  }
  if (error.code == kAmqpAccessRefused) {
    return absl::FailedPreconditionError(status.message());
  }
  return status;
}

void Publisher::Report(const RecordsInFlight::Reports& reports) {
  const WallTime now = WallNow();
  for (const RecordsInFlight::Report& report : reports) {
    if (report.status.ok()) {
      reports_.OnAcknowledged(report.sequence, now);
    } else {
      reports_.OnNotDelivered(report.sequence, report.status);
    }
  }
}

void Publisher::OnTurn() {
  SendAll();
  if (phase_ == Phase::kClosing) return FinishIfDrained();
  const bool has_room = !blocked_ && records_.bytes() < kMaxBytes;
  if (has_room && std::exchange(was_full_, false)) reports_.OnCapacity();
  on_drained_();
}

// ---- The end.

void Publisher::Fail(const absl::Status& error) {
  if (phase_ == Phase::kClosing) return GiveUp();
  if (phase_ != Phase::kOpen) return;
  phase_ = Phase::kFailed;
  failure_ = std::string(error.message());
  connector_->Stop();
  Report(records_.TakeAll(absl::AbortedError(failure_)));
  // It is reported, if it was a record.
  const bool is_of_record = absl::IsInvalidArgument(error);
  reports_.OnSinkFailed(is_of_record ? absl::AbortedError(failure_) : error);
  on_drained_();
}

void Publisher::WaitForTick() {
  tick_timer_.expires_after(kTick);
  tick_timer_.async_wait([this, lifetime = std::weak_ptr(lifetime_)](
                             boost::system::error_code error) {
    if (error || lifetime.expired()) return;
    Tick();
    if (phase_ != Phase::kClosed) WaitForTick();
  });
}

void Publisher::Tick() {
  const absl::Status judged = records_.Judge(
      options_.confirm_timeout, blocked_.has_value(), Clock::now());
  if (!judged.ok()) return Fail(judged);
  SendAll();  // those that were not stored
}

void Publisher::Close(MonotonicTime deadline, std::function<void()> closed) {
  closed_ = std::move(closed);
  phase_ = Phase::kClosing;
  close_timer_.expires_at(deadline);
  close_timer_.async_wait([this, lifetime = std::weak_ptr(lifetime_)](
                              boost::system::error_code error) {
    if (!error && !lifetime.expired() && !is_finishing_) GiveUp();
  });
  if (!records_.empty()) return;
  asio::post(close_timer_.get_executor(),
             [this, lifetime = std::weak_ptr(lifetime_)] {
               if (!lifetime.expired()) FinishIfDrained();
             });
}

void Publisher::FinishIfDrained() {
  if (phase_ != Phase::kClosing || is_finishing_ || !records_.empty()) return;
  if (connector_->ready() == nullptr) return Finish();
  is_finishing_ = true;
  connector_->ready()->SendClose();
  close_timer_.expires_after(kFarewell);
  close_timer_.async_wait([this, lifetime = std::weak_ptr(lifetime_)](
                              boost::system::error_code error) {
    if (!error && !lifetime.expired()) Finish();
  });
}

void Publisher::GiveUp() {
  if (phase_ != Phase::kClosing) return;
  connector_->Stop();
  Report(records_.TakeAll(
      absl::AbortedError("it was not confirmed before the sink was closed")));
  Finish();
}

void Publisher::Finish() {
  if (phase_ != Phase::kClosing) return;
  phase_ = Phase::kClosed;
  connector_->Stop();
  tick_timer_.cancel();
  close_timer_.cancel();
  // It may destroy this object.
  const std::function<void()> closed = std::exchange(closed_, nullptr);
  closed();
}

// ---- Health.

std::string Publisher::Trouble() const {
  const Connection* connection = connector_->ready();
  if (connection == nullptr) {
    return phase_ == Phase::kFailed ? failure_ : connector_->trouble();
  }
  if (blocked_) {
    return fmt::format(
        "RabbitMQ at {} takes no messages: an alarm is on ({}). See "
        "rabbitmq-diagnostics alarms: free memory or disk there, or raise "
        "vm_memory_high_watermark or lower disk_free_limit",
        connection->address().ToString(), *blocked_);
  }
  return records_.Trouble(Clock::now());
}

SinkHealth Publisher::Health() {
  SinkHealth health;
  const Connection* connection = connector_->ready();
  health.brokers_up = connection == nullptr ? 0 : 1;
  if (connection != nullptr) health.heard_at = connection->heard_at();
  health.trouble = Trouble();
  health.rejects_credentials = connector_->rejects_credentials();
  health.cluster_id = cluster();
  health.is_comparing = !expected_cluster_.empty() && connection == nullptr;
  return health;
}

}  // namespace walpost::rabbitmq
