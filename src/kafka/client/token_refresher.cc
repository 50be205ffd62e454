#include "kafka/client/token_refresher.h"

#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "base/bearer_token.h"
#include "fmt/format.h"
#include "kafka/client/handles.h"
#include "loop/blocking_call.h"
#include "loop/secret_command.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kName = "walpost-token";
constexpr std::chrono::seconds kPause{10};

using SharedRefresher = std::shared_ptr<TokenRefresher>;

rd_kafka_resp_err_t ReleaseRefresher(void* owner) {
  delete static_cast<SharedRefresher*>(owner);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace

void TokenRefresher::Install(rd_kafka_conf_t* conf,
                             std::vector<std::string> command) {
  auto* owner =
      new SharedRefresher(std::make_shared<TokenRefresher>(std::move(command)));
  rd_kafka_conf_interceptor_add_on_new(conf, kName, OnNew, owner);
  // A client destroys its configuration after its threads have ended.
  rd_kafka_conf_interceptor_add_on_conf_destroy(conf, kName, ReleaseRefresher,
                                                owner);
  rd_kafka_conf_set_opaque(conf, owner->get());
  rd_kafka_conf_enable_sasl_queue(conf, 1);
  rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, OnRefresh);
}

rd_kafka_resp_err_t TokenRefresher::OnNew(rd_kafka_t* client,
                                          const rd_kafka_conf_t*, void* owner,
                                          char*, size_t) {
  TokenRefresher& self = **static_cast<SharedRefresher*>(owner);
  const std::lock_guard lock(self.mutex_);
  self.client_ = client;
  return rd_kafka_interceptor_add_on_destroy(client, kName, OnDestroy, owner);
}

rd_kafka_resp_err_t TokenRefresher::OnDestroy(rd_kafka_t*, void* owner) {
  TokenRefresher& self = **static_cast<SharedRefresher*>(owner);
  const std::lock_guard lock(self.mutex_);
  self.client_ = nullptr;
  if (self.io_ != nullptr) self.io_->stop();
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

TokenRefresher* TokenRefresher::Of(rd_kafka_t* client) {
  return static_cast<TokenRefresher*>(rd_kafka_opaque(client));
}

void TokenRefresher::Start(rd_kafka_t* client) {
  if (Of(client) == nullptr) return;
  // Else whoever creates a client would have to serve a queue of it.
  const KafkaHandle<rd_kafka_error_t, rd_kafka_error_destroy> error(
      rd_kafka_sasl_background_callbacks_enable(client));
  if (error == nullptr) return;
  rd_kafka_oauthbearer_set_token_failure(client,
                                         rd_kafka_error_string(error.get()));
}

void TokenRefresher::OnRefresh(rd_kafka_t*, const char*, void* self) {
  static_cast<TokenRefresher*>(self)->Run();
}

void TokenRefresher::Renew() {
  {
    const std::lock_guard lock(mutex_);
    if (Clock::now() < started_at_ + kPause) return;
  }
  Run();
}

void TokenRefresher::Run() {
  {
    const std::lock_guard lock(mutex_);
    if (is_running_ || client_ == nullptr) return;
    is_running_ = true;
    started_at_ = Clock::now();
  }
  const absl::Status started =
      RunOnThread([self = shared_from_this()] { self->RunHere(); });
  if (!started.ok()) Take(started);
}

void TokenRefresher::RunHere() {
  asio::io_context io(1);
  {
    const std::lock_guard lock(mutex_);
    io_ = &io;
    if (client_ == nullptr) io.stop();
  }
  const absl::StatusOr<std::string> printed = Output(io);
  {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }
  Take(printed);
}

absl::StatusOr<std::string> TokenRefresher::Output(asio::io_context& io) const {
  absl::StatusOr<std::string> printed = absl::CancelledError("stopped");
  asio::co_spawn(io,
                 RunSecretCommand(io.get_executor(), kTokenCommand, command_),
                 [&](const std::exception_ptr& exception,
                     absl::StatusOr<std::string> result) {
                   if (exception) std::rethrow_exception(exception);
                   printed = std::move(result);
                 });
  io.run();
  return printed;
}

void TokenRefresher::Take(const absl::StatusOr<std::string>& printed) {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  ++runs_;
  has_ended_.notify_all();
  if (client_ == nullptr) return;
  status_ = printed.ok() ? SetToken(*printed) : printed.status();
  if (status_.ok()) return;
  rd_kafka_oauthbearer_set_token_failure(
      client_, std::string(status_.message()).c_str());
}

absl::Status TokenRefresher::SetToken(const std::string& printed) {
  const absl::StatusOr<BearerToken> token =
      ParseBearerToken(printed, WallNow());
  if (!token.ok()) {
    return SecretCommandError(kTokenCommand, command_,
                              std::string(token.status().message()));
  }
  std::vector<const char*> extensions;
  for (const auto& [name, value] : token->extensions) {
    extensions.push_back(name.c_str());
    extensions.push_back(value.c_str());
  }
  const auto expires_at =
      std::chrono::floor<std::chrono::milliseconds>(token->expires_at);
  char reason[512];  // quotes the token
  if (rd_kafka_oauthbearer_set_token(
          client_, token->value.c_str(), expires_at.time_since_epoch().count(),
          token->principal.c_str(), extensions.data(), extensions.size(),
          reason, sizeof(reason)) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return SecretCommandError(kTokenCommand, command_,
                              "printed a token that librdkafka rejects");
  }
  expires_at_ = token->expires_at;
  return absl::OkStatus();
}

absl::Status TokenRefresher::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::string TokenRefresher::WhyNoToken() const {
  const std::lock_guard lock(mutex_);
  return WallNow() < expires_at_ ? "" : std::string(status_.message());
}

void TokenRefresher::AwaitFirst() const {
  std::unique_lock lock(mutex_);
  has_ended_.wait_for(lock, kSecretCommandLimit, [this] { return runs_ > 0; });
}

std::string ExplainTokenError(rd_kafka_t* client, std::string_view text) {
  constexpr std::string_view kNotAcquired =
      "Failed to acquire SASL OAUTHBEARER token: ";
  TokenRefresher* refresher = TokenRefresher::Of(client);
  if (refresher == nullptr) return std::string(text);
  if (text.starts_with(kNotAcquired)) {
    return std::string(text.substr(kNotAcquired.size()));
  }
  const bool is_rejection =
      text.find("SASL OAUTHBEARER auth") != std::string_view::npos ||
      text.find("SASL authentication") != std::string_view::npos ||
      text.find("invalid_token") != std::string_view::npos;
  if (!is_rejection) return std::string(text);
  refresher->Renew();
  const absl::Status status = refresher->status();
  if (!status.ok()) return std::string(status.message());
  return fmt::format("Kafka rejects the token of kafka.token_command: {}",
                     text);
}

}  // namespace walpost
