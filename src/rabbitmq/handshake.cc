#include "rabbitmq/handshake.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

constexpr uint32_t kMaxFrame = 131'072;
constexpr char kLocale[] = "en_US";

std::string_view TextOf(const amqp_table_t& table, std::string_view name) {
  for (int i = 0; i < table.num_entries; ++i) {
    const amqp_table_entry_t& entry = table.entries[i];
    if (AmqpView(entry.key) != name) continue;
    if (entry.value.kind == AMQP_FIELD_KIND_UTF8) {
      return AmqpView(entry.value.value.bytes);
    }
  }
  return {};
}

bool HasCapability(const amqp_table_t& table, std::string_view name) {
  for (int i = 0; i < table.num_entries; ++i) {
    const amqp_table_entry_t& entry = table.entries[i];
    const bool is_table = entry.value.kind == AMQP_FIELD_KIND_TABLE;
    if (is_table && AmqpView(entry.key) == "capabilities") {
      return HasCapability(entry.value.value.table, name);
    }
    const bool is_true = entry.value.kind == AMQP_FIELD_KIND_BOOLEAN &&
                         entry.value.value.boolean != 0;
    if (is_true && AmqpView(entry.key) == name) return true;
  }
  return false;
}

amqp_table_entry_t TextEntry(std::string_view name, std::string_view text) {
  amqp_table_entry_t entry{};
  entry.key = AmqpBytes(name);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = AmqpBytes(text);
  return entry;
}

amqp_table_entry_t TrueEntry(std::string_view name) {
  amqp_table_entry_t entry{};
  entry.key = AmqpBytes(name);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

bool HasWord(std::string_view words, std::string_view word) {
  const std::string padded = fmt::format(" {} ", words);
  return padded.find(fmt::format(" {} ", word)) != std::string::npos;
}

}  // namespace

std::string ClusterIdOf(const ServerFacts& facts) {
  const std::string& name = facts.cluster_name;
  const bool is_set = !name.empty() && name.find('@') == std::string::npos;
  return is_set ? RabbitmqClusterId(name) : kUnnamedRabbitmq;
}

std::string Handshake::Begin() {
  std::string out;
  AppendAmqpProtocolHeader(out);
  return out;
}

absl::Status Handshake::Expect(const AmqpMethod& method,
                               amqp_method_number_t id) const {
  if (method.id == id) return absl::OkStatus();
  return absl::DataLossError(fmt::format("{}: the server answers method {:#x}",
                                         attempted(), method.id));
}

std::string Handshake::attempted() const {
  switch (step_) {
    case Step::kStart:
      return "waiting for the server's first words";
    case Step::kTune:
      return options_.is_external
                 ? "logging in with the certificate"
                 : fmt::format("logging in as {}", options_.login.user);
    case Step::kOpen:
      return fmt::format("opening vhost {}", options_.login.vhost);
    case Step::kChannel:
      return "opening a channel";
    case Step::kCalls:
      return options_.calls[answers_.size()].attempted;
    case Step::kReady:
      return "publishing";
  }
  return "";
}

absl::Status Handshake::OnFrame(const AmqpFrame& frame, std::string& out) {
  if (frame.type != AMQP_FRAME_METHOD) return absl::OkStatus();  // a heartbeat
  WALPOST_ASSIGN_OR_RETURN(const AmqpMethod method,
                           decoder_.Method(frame.payload));
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    return OnConnectionClose(method, out);
  }
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    return OnChannelClose(method, out);
  }
  // An alarm may be on since before.
  if (method.id == AMQP_CONNECTION_BLOCKED_METHOD ||
      method.id == AMQP_CONNECTION_UNBLOCKED_METHOD ||
      method.id == AMQP_CHANNEL_CLOSE_OK_METHOD) {
    return absl::OkStatus();
  }
  switch (step_) {
    case Step::kStart:
      return OnStart(method, out);
    case Step::kTune:
      return OnTune(method, out);
    case Step::kOpen:
      WALPOST_RETURN_IF_ERROR(Expect(method, AMQP_CONNECTION_OPEN_OK_METHOD));
      return OpenChannel(out);
    case Step::kChannel:
      WALPOST_RETURN_IF_ERROR(Expect(method, AMQP_CHANNEL_OPEN_OK_METHOD));
      step_ = Step::kCalls;
      return MakeNextCall(out);
    case Step::kCalls:
      WALPOST_RETURN_IF_ERROR(
          Expect(method, options_.calls[answers_.size()].answer));
      answers_.emplace_back();
      return MakeNextCall(out);
    case Step::kReady:
      break;
  }
  return absl::OkStatus();
}

absl::Status Handshake::OnStart(const AmqpMethod& method, std::string& out) {
  WALPOST_RETURN_IF_ERROR(Expect(method, AMQP_CONNECTION_START_METHOD));
  const auto& start = method.As<amqp_connection_start_t>();
  facts_.cluster_name = TextOf(start.server_properties, "cluster_name");
  facts_.version = TextOf(start.server_properties, "version");
  facts_.has_nack = HasCapability(start.server_properties, "basic.nack");
  if (!HasCapability(start.server_properties, "publisher_confirms")) {
    return absl::FailedPreconditionError(fmt::format(
        "the server ({}) has no publisher confirms, so that it cannot say what "
        "it has stored: use RabbitMQ",
        TextOf(start.server_properties, "product")));
  }
  const std::string_view mechanism =
      options_.is_external ? "EXTERNAL" : "PLAIN";
  if (!HasWord(AmqpView(start.mechanisms), mechanism)) {
    return absl::FailedPreconditionError(fmt::format(
        "the server offers no login with {}, but {}: see auth_mechanisms in "
        "rabbitmq.conf{}",
        mechanism, AmqpView(start.mechanisms),
        options_.is_external
            ? ", and rabbitmq-plugins enable rabbitmq_auth_mechanism_ssl"
            : ""));
  }
  std::array capabilities = {
      TrueEntry("publisher_confirms"),
      TrueEntry("basic.nack"),
      TrueEntry("connection.blocked"),
      TrueEntry("authentication_failure_close"),
  };
  std::array properties = {
      TextEntry("product", "walpost"),
      TextEntry("connection_name", options_.connection_name),
      amqp_table_entry_t{},
  };
  properties.back().key = AmqpBytes("capabilities");
  properties.back().value.kind = AMQP_FIELD_KIND_TABLE;
  properties.back().value.value.table = {static_cast<int>(capabilities.size()),
                                         capabilities.data()};
  std::string response;
  if (!options_.is_external) {
    response = fmt::format("{}{}{}{}", '\0', options_.login.user, '\0',
                           options_.password);
  }
  amqp_connection_start_ok_t ok{};
  ok.client_properties = {static_cast<int>(properties.size()),
                          properties.data()};
  ok.mechanism = AmqpBytes(mechanism);
  ok.response = AmqpBytes(response);
  ok.locale = AmqpBytes(kLocale);
  step_ = Step::kTune;
  return AppendAmqpMethod(0, AMQP_CONNECTION_START_OK_METHOD, ok, out);
}

absl::Status Handshake::OnTune(const AmqpMethod& method, std::string& out) {
  WALPOST_RETURN_IF_ERROR(Expect(method, AMQP_CONNECTION_TUNE_METHOD));
  const auto& tune = method.As<amqp_connection_tune_t>();
  amqp_connection_tune_ok_t ok{};
  ok.channel_max = kRabbitmqChannel;
  // 0: the server has no limit.
  ok.frame_max =
      tune.frame_max == 0 ? kMaxFrame : std::min(tune.frame_max, kMaxFrame);
  ok.heartbeat = options_.heartbeat_seconds;
  if (ok.frame_max < kMinAmqpFrame) {
    return absl::FailedPreconditionError(
        fmt::format("the server takes frames of {} bytes only: raise frame_max "
                    "in rabbitmq.conf",
                    ok.frame_max));
  }
  facts_.max_frame = ok.frame_max;
  WALPOST_RETURN_IF_ERROR(
      AppendAmqpMethod(0, AMQP_CONNECTION_TUNE_OK_METHOD, ok, out));
  amqp_connection_open_t open{};
  open.virtual_host = AmqpBytes(options_.login.vhost);
  step_ = Step::kOpen;
  return AppendAmqpMethod(0, AMQP_CONNECTION_OPEN_METHOD, open, out);
}

absl::Status Handshake::OpenChannel(std::string& out) {
  step_ = Step::kChannel;
  return AppendAmqpMethod(kRabbitmqChannel, AMQP_CHANNEL_OPEN_METHOD,
                          amqp_channel_open_t{}, out);
}

absl::Status Handshake::MakeNextCall(std::string& out) {
  while (answers_.size() < options_.calls.size()) {
    const AmqpCall& call = options_.calls[answers_.size()];
    const bool has_failed = !answers_.empty() && answers_.back().error;
    if (!call.is_fallback || has_failed) {
      out += call.frame;
      return absl::OkStatus();
    }
    answers_.push_back({.error = std::nullopt, .was_made = false});
  }
  step_ = Step::kReady;
  return absl::OkStatus();
}

absl::Status Handshake::OnConnectionClose(const AmqpMethod& method,
                                          std::string& out) {
  const auto& close = method.As<amqp_connection_close_t>();
  closed_ =
      ServerError{close.reply_code, std::string(AmqpView(close.reply_text))};
  WALPOST_RETURN_IF_ERROR(AppendAmqpMethod(0, AMQP_CONNECTION_CLOSE_OK_METHOD,
                                           amqp_connection_close_ok_t{}, out));
  return StatusFromServer(*closed_, attempted(), options_.login);
}

absl::Status Handshake::OnChannelClose(const AmqpMethod& method,
                                       std::string& out) {
  const auto& close = method.As<amqp_channel_close_t>();
  ServerError error{close.reply_code, std::string(AmqpView(close.reply_text))};
  WALPOST_RETURN_IF_ERROR(AppendAmqpMethod(kRabbitmqChannel,
                                           AMQP_CHANNEL_CLOSE_OK_METHOD,
                                           amqp_channel_close_ok_t{}, out));
  const bool may_fail =
      step_ == Step::kCalls && options_.calls[answers_.size()].may_fail;
  if (may_fail) {
    answers_.push_back({.error = std::move(error)});
    return OpenChannel(out);
  }
  closed_ = std::move(error);
  return StatusFromServer(*closed_, attempted(), options_.login);
}

}  // namespace walpost::rabbitmq
