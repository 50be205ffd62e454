#include "config/sink_section.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "config/broker_list.h"
#include "config/nats_section.h"
#include "config/rabbitmq_section.h"
#include "config/redis_section.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr int kMaxStatisticsMillis = 12'000;
constexpr size_t kMaxTopics = 1'000'000;

void ReadKafka(Section section, ProducerOptions& kafka) {
  section.ReadTextOrList("brokers", kafka.brokers);
  const absl::Status brokers = CheckBrokerList(kafka.brokers);
  if (!brokers.ok()) section.Fail("brokers", std::string(brokers.message()));
  section.ReadCommand("token_command", kafka.token_command);
  if (!kafka.token_command.empty() && kafka.token_command.front().empty()) {
    section.Fail("token_command", "its first word, the program, is empty");
  }
  section.ReadCount("max_topics", kafka.max_topics, 1, kMaxTopics);
  section.ReadProperties("properties", kafka.properties);
  for (const auto& [name, value] : kafka.properties) {
    int interval = 0;
    if (name != "statistics.interval.ms") continue;
    const absl::StatusOr<std::string> text = value.Read();
    if (!text.ok()) continue;
    if (!absl::SimpleAtoi(*text, &interval) || interval < 1 ||
        interval > kMaxStatisticsMillis) {
      section.Fail("properties",
                   fmt::format("{}: walpost sees from the statistics whether "
                               "brokers are reachable: 1 to {}",
                               name, kMaxStatisticsMillis));
    }
  }
  section.Done("; properties of librdkafka belong in kafka.properties");
}

// One that the role may most likely describe: brokers log what they deny.
std::string ProbedTopic(const OutboxOptions& outbox) {
  if (!outbox.checkpoint_topic.empty()) return outbox.checkpoint_topic;
  const std::vector<TableOptions> entries = EntriesOf(outbox);
  const bool has_own = entries.size() == 1 && !entries.front().topic.empty();
  const std::string topic =
      has_own ? entries.front().topic : outbox.route.topic;
  const size_t end = topic.find('{');
  return end == std::string::npos ? topic : topic.substr(0, end) + "walpost";
}

}  // namespace

void ReadSinkKind(Section& root, Config& config) {
  root.ReadChoice("sink", config.sink, kSinkKinds);
  config.outbox.route.names =
      config.sink == SinkKind::kKafka ? NameRule::kKafka : NameRule::kOthers;
}

void ReadSink(Section& root, Config& config) {
  for (const auto& [name, kind] : kSinkKinds) {
    if (kind == config.sink || !root.Has(std::string(name))) continue;
    root.Fail(std::string(name),
              fmt::format("is for sink: {}, and the sink is {}: remove it, or "
                          "set sink: {}",
                          name, NameIn(kSinkKinds, config.sink), name));
  }
  ReadKafka(root.Child("kafka"), config.kafka);
  ReadNats(root.Child("nats"), config.nats);
  ReadRabbitmq(root.Child("rabbitmq"), config.rabbitmq);
  ReadRedis(root.Child("redis"), config.redis);
}

void CheckSinkKind(Section& root, const Config& config) {
  if (config.sink == SinkKind::kKafka) return;
  const std::string name(WordsOf(config.sink).name);
  if (config.transactions.is_on) {
    root.Fail("delivery",
              fmt::format("guarantee: exactly_once needs transactions, which "
                          "{} does not have: set guarantee: at_least_once, and "
                          "let consumers drop by its id what comes again",
                          name));
  }
  if (config.checkpoint.is_in_kafka()) {
    root.Fail("checkpoint",
              fmt::format("store: kafka keeps checkpoints in a topic of Kafka, "
                          "and the sink is {}: set store: postgres, or file",
                          name));
  }
  if (config.parking.isolates()) {
    root.Fail("parking",
              fmt::format("isolate_after sets topics of Kafka without a leader "
                          "aside, and the sink is {}: remove it",
                          name));
  }
  const OutboxOptions& outbox = config.outbox;
  const auto check = [&](const std::string& key, bool creates,
                         bool has_partition) {
    if (creates) {
      root.Fail(key, fmt::format("create_topics is for topics of Kafka, and "
                                 "the sink is {}: remove it; {} makes what is "
                                 "missing",
                                 name, WordsOf(config.sink).creation_key));
    }
    if (has_partition) {
      root.Fail(key, fmt::format("partition: {} has no partitions; the order "
                                 "of a key is kept without them: remove it",
                                 name));
    }
  };
  check("route", outbox.route.create_topics.has_value(),
        !outbox.route.partition.empty());
  for (const TableOptions& table : EntriesOf(outbox)) {
    check("outbox", table.create_topics.has_value(),
          !table.partition.value_or("").empty());
  }
  const MessageOptions& messages = outbox.messages;
  check("outbox", messages.create_topics.has_value(),
        !messages.partition.value_or("").empty());
  check("dead_letter", outbox.dead_letter.create_topics.has_value(), false);
}

void CompleteSink(Config& config) {
  ProducerOptions& kafka = config.kafka;
  kafka.client_id = "walpost-" + config.postgres.slot;
  config.redis.client_name = kafka.client_id;
  config.rabbitmq.connection_name = kafka.client_id;
  kafka.max_records = config.window.most_records();
  kafka.transaction_timeout = config.transactions.timeout;
  kafka.checkpoint_topic = config.checkpoint.topic;
  kafka.own_topics = {config.checkpoint.topic, config.outbox.dead_letter.topic};
  kafka.probed_topic = ProbedTopic(config.outbox);
  config.nats.client_id = kafka.client_id;
  config.nats.max_records = kafka.max_records;
}

}  // namespace walpost
