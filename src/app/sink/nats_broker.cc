#include <chrono>
#include <utility>

#include "app/sink/broker.h"
#include "app/sink/checked_topics.h"
#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "nats/nats_check.h"
#include "nats/nats_sinks.h"
#include "outbox/dead_letter_topic.h"
#include "verify/nats_records.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

class NatsBroker final : public Broker {
 public:
  explicit NatsBroker(const Config& config) : config_(config) {}

  std::string address() const override { return config_.nats.servers; }

  absl::Status CheckOptions() const override {
    return CheckNatsOptions(config_.nats);
  }

  SinkFactory Sinks(asio::any_io_executor executor) const override {
    return NatsSinks(std::move(executor), config_.nats);
  }

  std::unique_ptr<SinkKnowledge> Knowledge(
      asio::any_io_executor executor) const override {
    return MakeNatsKnowledge(std::move(executor), config_.nats);
  }

  absl::StatusOr<SinkFindings> Check(
      const std::vector<Route>& routes,
      const std::optional<TransactionalIds>& /*transactional_ids*/)
      const override {
    std::vector<NatsSubjects> subjects;
    for (const TopicNames& names : CheckedTopics(config_, routes)) {
      subjects.push_back({names.text, names.is_whole,
                          names.are_dead_letters ? NatsSubjects::Use::kLetters
                                                 : NatsSubjects::Use::kEvents});
    }
    AddPossibleLetters(subjects);
    return CheckNats(config_.nats, subjects, std::chrono::seconds(5));
  }

  absl::StatusOr<std::string> ClusterId() const override {
    return kUnnamedNats;
  }

  ConnectToRecords Records() const override {
    return [nats = config_.nats]()
               -> absl::StatusOr<std::unique_ptr<PublishedRecords>> {
      WALPOST_ASSIGN_OR_RETURN(NatsConnectionHandle connection, OpenNats(nats));
      return std::make_unique<NatsRecords>(connection.release(), nats.domain);
    };
  }

  absl::StatusOr<std::map<std::string, std::string>> TopicIds(
      const std::set<std::string>& topics) const override {
    return FindNatsStreams(config_.nats, topics, std::chrono::seconds(10));
  }

 private:
  // Where `walpost dead-letter` would send them.
  void AddPossibleLetters(std::vector<NatsSubjects>& subjects) const {
    if (config_.sends_letters() || config_.keeps_letters()) return;
    const auto topic = ParseDeadLetterTopic(config_.outbox.dead_letter.topic,
                                            config_.outbox.route.names);
    if (!topic.ok()) return;
    subjects.push_back({topic->prefix(), topic->references().empty(),
                        NatsSubjects::Use::kPossibleLetters});
  }

  const Config& config_;
};

}  // namespace

std::unique_ptr<Broker> MakeNatsBroker(const Config& config) {
  return std::make_unique<NatsBroker>(config);
}

}  // namespace walpost
