#include "rabbitmq/server_connector.h"

#include <random>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/credential_digest.h"

namespace walpost::rabbitmq {
namespace {

constexpr Backoff::Options kPauses{.initial = std::chrono::milliseconds(200),
                                   .cap = std::chrono::milliseconds(3000),
                                   .least = std::chrono::milliseconds(50)};

}  // namespace

ServerConnector::ServerConnector(boost::asio::any_io_executor executor,
                                 RabbitmqOptions options,
                                 std::vector<ServerPlace> addresses,
                                 std::vector<AmqpCall> calls, ServerTurn turn,
                                 Connection::Handlers handlers)
    : executor_(executor),
      options_(std::move(options)),
      addresses_(std::move(addresses)),
      calls_(std::move(calls)),
      turn_(std::move(turn)),
      handlers_(std::move(handlers)),
      timer_(executor),
      backoff_(kPauses, std::random_device()()) {}

ServerConnector::~ServerConnector() { Stop(); }

void ServerConnector::Start() {
  timer_.expires_after(std::chrono::milliseconds(0));
  timer_.async_wait([this, lifetime = std::weak_ptr(lifetime_)](
                        boost::system::error_code error) {
    if (!error && !lifetime.expired()) Try();
  });
}

void ServerConnector::Stop() {
  is_stopped_ = true;
  timer_.cancel();
  if (connection_ != nullptr) connection_->Abort();
}

Connection* ServerConnector::ready() const {
  const bool is_ready =
      !is_stopped_ && connection_ != nullptr && connection_->is_ready();
  return is_ready ? connection_.get() : nullptr;
}

absl::Status ServerConnector::ReadLogin() {
  WALPOST_ASSIGN_OR_RETURN(login_.user, options_.user.Read());
  WALPOST_ASSIGN_OR_RETURN(password_, options_.password.Read());
  if (options_.password.empty()) password_ = login_.user;
  login_.vhost = options_.vhost;
  WALPOST_ASSIGN_OR_RETURN(digest_, Digest());
  return absl::OkStatus();
}

bool ServerConnector::credentials_have_changed() const {
  if (login_.vhost.empty()) return false;  // none was read
  const absl::StatusOr<Sha256Digest> now = Digest();
  return now.ok() && *now != digest_;
}

absl::StatusOr<Sha256Digest> ServerConnector::Digest() const {
  return DigestCredentials({&options_.user, &options_.password}, options_.tls);
}

void ServerConnector::Try() {
  if (is_stopped_) return;
  const absl::Status read = ReadLogin();
  if (!read.ok()) return OnFailed(read);
  Connection::Options options;
  options.address = addresses_[*turn_ % addresses_.size()];
  options.tls = options_.tls;
  options.connect_timeout = options_.connect_timeout;
  options.heartbeat = options_.heartbeat;
  options.handshake.login = login_;
  options.handshake.password = password_;
  options.handshake.is_external = login_.user.empty();
  options.handshake.connection_name = options_.connection_name;
  options.handshake.heartbeat_seconds =
      static_cast<uint16_t>(options_.heartbeat.count());
  options.handshake.calls = calls_;
  Connection::Handlers handlers = handlers_;
  handlers.on_ready = [this] {
    trouble_.clear();
    rejects_credentials_ = false;
    const ServerFacts& facts = connection_->handshake().facts();
    LogInfo("connected to RabbitMQ {} at {}, cluster {}", facts.version,
            connection_->address().ToString(), facts.cluster_name);
    handlers_.on_ready();
  };
  handlers.on_failed = [this](const absl::Status& error) { OnFailed(error); };
  connection_ =
      Connection::Open(executor_, std::move(options), std::move(handlers));
}

void ServerConnector::OnFailed(const absl::Status& error) {
  ++*turn_;
  const bool was_ready = connection_ != nullptr && connection_->is_ready();
  if (was_ready) return handlers_.on_failed(error);
  const std::string text(error.message());
  if (text != trouble_) LogWarn("RabbitMQ: {}", text);
  trouble_ = text;
  rejects_credentials_ = false;
  if (connection_ != nullptr) {
    const auto& closed = connection_->handshake().closed();
    rejects_credentials_ = closed && RejectsLogin(*closed);
  }
  TryAgain();
}

// The other servers at once; a pause when all have failed.
void ServerConnector::TryAgain() {
  if (is_stopped_) return;
  const bool is_round_over = ++failures_ % addresses_.size() == 0;
  timer_.expires_after(is_round_over ? backoff_.Next()
                                     : std::chrono::milliseconds(0));
  timer_.async_wait([this, lifetime = std::weak_ptr(lifetime_)](
                        boost::system::error_code failed) {
    if (!failed && !lifetime.expired()) Try();
  });
}

}  // namespace walpost::rabbitmq
