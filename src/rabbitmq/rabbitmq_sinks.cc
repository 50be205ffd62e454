#include "rabbitmq/rabbitmq_sinks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "rabbitmq/address_list.h"
#include "rabbitmq/name_template.h"
#include "rabbitmq/publisher.h"

namespace walpost {
namespace {

using rabbitmq::NameTemplate;

constexpr size_t kMaxShortString = 255;
constexpr size_t kMaxMessageBytes = size_t{512} << 20;  // of any RabbitMQ

class RabbitmqTopicKnowledge final : public TopicKnowledge {
 public:
  explicit RabbitmqTopicKnowledge(SinkFactory sinks)
      : sinks_(std::move(sinks)) {}

  SinkFactory Sinks() override { return sinks_; }
  void Exchange() override {}

 private:
  SinkFactory sinks_;
};

class RabbitmqKnowledge final : public SinkKnowledge {
 public:
  explicit RabbitmqKnowledge(SinkFactory sinks) : sinks_(std::move(sinks)) {}

  SinkFactory Sinks() override { return sinks_; }
  std::unique_ptr<TopicKnowledge> Of(std::string) override {
    return std::make_unique<RabbitmqTopicKnowledge>(sinks_);
  }
  const std::string& topics() const override { return nothing_; }
  void SetTopics(std::string_view) override {}
  const std::string& replaced_topic() const override { return nothing_; }
  void Forget() override {}

 private:
  SinkFactory sinks_;
  const std::string nothing_;
};

constexpr std::string_view kExchangeTypes[] = {"direct", "fanout", "topic",
                                               "headers"};

absl::Status Wrong(std::string_view key, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", key, why));
}

absl::StatusOr<NameTemplate> CheckTemplate(std::string_view key,
                                           const std::string& text) {
  absl::StatusOr<NameTemplate> name = NameTemplate::Parse(text);
  if (!name.ok()) return Wrong(key, std::string(name.status().message()));
  if (text.size() > kMaxShortString) {
    return Wrong(key, "longer than 255 bytes, which is all that AMQP takes");
  }
  return name;
}

absl::Status CheckUser(const RabbitmqOptions& options) {
  if (!options.user.empty() || !options.tls.certificate_file.empty()) {
    return absl::OkStatus();
  }
  return Wrong("rabbitmq.user",
               "without a user, rabbitmq.tls.certificate_file must say who "
               "walpost is");
}

absl::Status CheckCreation(const RabbitmqOptions& options,
                           const NameTemplate& exchange) {
  const bool creates =
      !options.create.exchange_type.empty() || !options.create.queue.empty();
  if (creates && !exchange.is_fixed()) {
    return Wrong("rabbitmq.create",
                 "rabbitmq.exchange has {}, so its names are not known");
  }
  const std::string& type = options.create.exchange_type;
  const bool is_known =
      std::ranges::find(kExchangeTypes, type) != std::end(kExchangeTypes);
  if (!type.empty() && !is_known && !type.starts_with("x-")) {
    return Wrong("rabbitmq.create.exchange_type",
                 fmt::format("'{}' is not a type of exchange: direct, fanout, "
                             "topic or headers; or one of a plugin, as in "
                             "x-consistent-hash",
                             type));
  }
  if (!type.empty() && options.exchange.empty()) {
    return Wrong("rabbitmq.create.exchange_type",
                 "the default exchange is always there: set rabbitmq.exchange");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRabbitmqOptions(const RabbitmqOptions& options) {
  WALPOST_RETURN_IF_ERROR(
      rabbitmq::ParseRabbitmqAddresses(options.nodes, options.tls.enabled)
          .status());
  WALPOST_ASSIGN_OR_RETURN(
      const NameTemplate exchange,
      CheckTemplate("rabbitmq.exchange", options.exchange));
  WALPOST_ASSIGN_OR_RETURN(
      const NameTemplate routing_key,
      CheckTemplate("rabbitmq.routing_key", options.routing_key));
  if (options.vhost.empty() || options.vhost.size() > kMaxShortString) {
    return Wrong("rabbitmq.vhost", "1 to 255 bytes, as in /");
  }
  if (options.content_type.size() > kMaxShortString) {
    return Wrong("rabbitmq.content_type", "longer than 255 bytes");
  }
  if (options.heartbeat.count() < 1 || options.heartbeat.count() > 600) {
    return Wrong("rabbitmq.heartbeat", "1s to 10m");
  }
  if (options.connect_timeout.count() < 1) {
    return Wrong("rabbitmq.connect_timeout", "at least 1s");
  }
  if (options.confirm_timeout.count() < 5) {
    return Wrong("rabbitmq.confirm_timeout", "at least 5s");
  }
  if (options.max_message_bytes == 0 ||
      options.max_message_bytes > kMaxMessageBytes) {
    return Wrong("rabbitmq.max_message_bytes", "1 to 512 MiB");
  }
  WALPOST_RETURN_IF_ERROR(CheckUser(options));
  return CheckCreation(options, exchange);
}

SinkFactory RabbitmqSinks(boost::asio::any_io_executor executor,
                          RabbitmqOptions options) {
  return [executor = std::move(executor), settings = std::move(options),
          turn = std::make_shared<size_t>(0)](const SinkOptions& sink,
                                              RecordReports& reports,
                                              std::function<void()> on_drained)
             -> absl::StatusOr<std::unique_ptr<Sink>> {
    RabbitmqOptions own = settings;
    own.connection_name += sink.client_id_suffix;
    if (!sink.transactional_id.empty()) {
      return absl::FailedPreconditionError(
          "RabbitMQ has no transactions that walpost could use: set guarantee: "
          "at_least_once");
    }
    return rabbitmq::Publisher::Create(executor, own, reports,
                                       std::move(on_drained), turn);
  };
}

std::unique_ptr<SinkKnowledge> MakeRabbitmqKnowledge(
    boost::asio::any_io_executor executor, RabbitmqOptions options) {
  return std::make_unique<RabbitmqKnowledge>(
      RabbitmqSinks(std::move(executor), std::move(options)));
}

}  // namespace walpost
