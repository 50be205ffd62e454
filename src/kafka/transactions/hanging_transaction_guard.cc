#include "kafka/transactions/hanging_transaction_guard.h"

#include "fmt/format.h"
#include "kafka/client/admin_request.h"

namespace walpost {
namespace {

constexpr int kPollMillis = 100;

}  // namespace

absl::Status HangingTransactionGuard::MayProduce(const std::string& name,
                                                 MonotonicTime now) {
  std::unique_ptr<Topic>& topic = topics_[name];
  if (topic == nullptr) {
    topic = std::make_unique<Topic>(Topic{name, now});
  }
  if (topic->is_settled()) return absl::OkStatus();
  const bool is_due =
      now - topic->since < kHurryFor || now - topic->asked_at >= kAskAgainAfter;
  if (!topic->is_asking && is_due) {
    topic->asked_at = now;
    Ask(*topic);
  }
  if (now - topic->since < kSayAfter) {
    return absl::ResourceExhaustedError(
        fmt::format("topic {} may have an open transaction", name));
  }
  const auto open = topic->ends.First();
  if (!open) {
    return absl::UnavailableError(fmt::format(
        "the brokers have not told whether a transaction is open in topic {}: "
        "has each of its partitions a leader?",
        name));
  }
  return absl::UnavailableError(fmt::format(
      "topic {0}, partition {1}: a transaction is open from offset {2} on, and "
      "began before walpost took over. The next commit of walpost would end "
      "it, if it is one of walpost that the brokers have lost track of. If it "
      "stays open: kafka-transactions.sh --bootstrap-server {3} abort --topic "
      "{0} --partition {1} --start-offset {2}; then run walpost verify -c FILE",
      name, open->partition, open->from, brokers_));
}

HangingTransactionGuard::Topic* HangingTransactionGuard::TopicOf(
    rd_kafka_event_t* event) {
  const void* mark = rd_kafka_event_opaque(event);
  for (const auto& [name, topic] : topics_) {
    if (topic.get() == mark) return topic.get();
  }
  return nullptr;
}

void HangingTransactionGuard::Ask(Topic& topic) {
  topic.is_asking = true;
  if (topic.ask == Topic::Ask::kTopic) return AskForTopic(topic);
  AskForOffsets(topic);
}

void HangingTransactionGuard::AskForTopic(Topic& topic) {
  AdminRequest(client_, queue_)
      .Within(kRequestLimit)
      .Marked(&topic)
      .DescribeTopics({topic.name});
}

void HangingTransactionGuard::AskForOffsets(Topic& topic) {
  TopicPartitions asked;
  const auto add = [&](int32_t partition) {
    asked.emplace_back(topic.name, partition);
  };
  const bool is_for_ends = topic.ask == Topic::Ask::kEnds;
  if (is_for_ends) {
    for (int32_t i = 0; i < topic.partitions; ++i) add(i);
  } else {
    topic.ends.ForEachPartition(add);
  }
  AdminRequest(client_, queue_)
      .Within(kRequestLimit)
      .Marked(&topic)
      .ListOffsets(asked, RD_KAFKA_OFFSET_SPEC_LATEST,
                   is_for_ends ? RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED
                               : RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED);
}

bool HangingTransactionGuard::OnDescribed(rd_kafka_event_t* event) {
  Topic* topic = TopicOf(event);
  if (topic == nullptr) return false;
  topic->is_asking = false;
  topic->ask = NextOf(*topic, event);
  const bool may_ask = topic->ask != Topic::Ask::kTopic && !topic->is_settled();
  if (may_ask) Ask(*topic);
  return true;
}

// A missing topic has no transaction, and one that may not be described is
// refused to its first record. One that was deleted and created again has other
// ends.
HangingTransactionGuard::Topic::Ask HangingTransactionGuard::NextOf(
    Topic& topic, rd_kafka_event_t* described) {
  const std::vector<DescribedTopic> found = DescribedTopics(described);
  if (found.empty()) return Topic::Ask::kTopic;
  const DescribedTopic& its = found[0];
  if (its.error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
    return Topic::Ask::kTopic;
  }
  if (its.error != RD_KAFKA_RESP_ERR_NO_ERROR || its.partitions == 0) {
    return Topic::Ask::kNothing;
  }
  if (!topic.ends.empty() && topic.id == its.id) return Topic::Ask::kStableEnds;
  topic.id = its.id;
  topic.partitions = static_cast<int32_t>(its.partitions);
  topic.ends = {};
  return Topic::Ask::kEnds;
}

bool HangingTransactionGuard::OnOffsets(rd_kafka_event_t* event) {
  Topic* topic = TopicOf(event);
  if (topic == nullptr) return false;
  topic->is_asking = false;
  const bool are_ends = topic->ask == Topic::Ask::kEnds;
  topic->ask = Topic::Ask::kTopic;
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) return true;
  OpenTransactionOffsets ends =
      are_ends ? OpenTransactionOffsets() : topic->ends;
  for (const ListedOffset& listed : ListedOffsets(event)) {
    const bool is_known = listed.error == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (are_ends && !is_known) return true;
    if (are_ends) {
      ends.Add(listed.partition, listed.offset);
    } else if (is_known) {
      ends.Observe(listed.partition, listed.offset);
    }
  }
  topic->ends = ends;
  if (ends.empty()) {
    topic->ask = Topic::Ask::kNothing;
  } else if (are_ends) {
    topic->ask = Topic::Ask::kStableEnds;
    Ask(*topic);
  }
  return true;
}

absl::Status AwaitEarlierTransactions(
    rd_kafka_t* client, const std::string& topic, const std::string& brokers,
    const std::function<bool()>& must_return) {
  const KafkaQueue queue(rd_kafka_queue_new(client));
  HangingTransactionGuard earlier(client, queue.get(), brokers);
  for (;;) {
    const absl::Status may =
        earlier.MayProduce(topic, std::chrono::steady_clock::now());
    if (!absl::IsResourceExhausted(may) || must_return()) return may;
    const KafkaEvent event(rd_kafka_queue_poll(queue.get(), kPollMillis));
    if (event == nullptr) continue;
    if (rd_kafka_event_type(event.get()) ==
        RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT) {
      earlier.OnDescribed(event.get());
    } else {
      earlier.OnOffsets(event.get());
    }
  }
}

}  // namespace walpost
