#include <chrono>
#include <utility>

#include "app/sink/broker.h"
#include "app/sink/checked_topics.h"
#include "base/status_macros.h"
#include "rabbitmq/rabbitmq_check.h"
#include "rabbitmq/rabbitmq_sinks.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kCheckTimeout{5};

class RabbitmqBroker final : public Broker {
 public:
  explicit RabbitmqBroker(const Config& config) : config_(config) {}

  std::string address() const override { return config_.rabbitmq.nodes; }

  absl::Status CheckOptions() const override {
    return CheckRabbitmqOptions(config_.rabbitmq);
  }

  SinkFactory Sinks(asio::any_io_executor executor) const override {
    return RabbitmqSinks(std::move(executor), config_.rabbitmq);
  }

  std::unique_ptr<SinkKnowledge> Knowledge(
      asio::any_io_executor executor) const override {
    return MakeRabbitmqKnowledge(std::move(executor), config_.rabbitmq);
  }

  absl::StatusOr<SinkFindings> Check(
      const std::vector<Route>& routes,
      const std::optional<TransactionalIds>&) const override {
    std::vector<RabbitmqTopic> topics;
    for (const TopicNames& names : CheckedTopics(config_, routes)) {
      topics.push_back({names.text, names.is_whole});
    }
    return CheckRabbitmq(config_.rabbitmq, topics, kCheckTimeout);
  }

  absl::StatusOr<std::string> ClusterId() const override {
    WALPOST_ASSIGN_OR_RETURN(
        const SinkFindings findings,
        CheckRabbitmq(config_.rabbitmq, {}, kCheckTimeout));
    if (findings.answers) return findings.cluster_id;
    const Finding* error = FirstError(findings.findings);
    return absl::UnavailableError(error == nullptr ? "no node answers"
                                                   : error->text);
  }

  std::string_view why_unread() const override {
    return "to read a queue of RabbitMQ is to take its messages from its "
           "consumers. Bind a queue or a stream of your own to the exchange, "
           "and compare the message-id of what arrives there with the ids in "
           "the outbox table (docs/rabbitmq.md)";
  }

 private:
  const Config& config_;
};

}  // namespace

std::unique_ptr<Broker> MakeRabbitmqBroker(const Config& config) {
  return std::make_unique<RabbitmqBroker>(config);
}

}  // namespace walpost
