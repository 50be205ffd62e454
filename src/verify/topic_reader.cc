#include "verify/topic_reader.h"

#include <random>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/claim_check.h"

namespace walpost {
namespace {

constexpr int kAnswerMillis = 10'000;
// Without a record for this time, the brokers count as unreachable.
constexpr int kRecordMillis = 30'000;

using Message =
    std::unique_ptr<rd_kafka_message_t, decltype(&rd_kafka_message_destroy)>;

// A record may have several headers of a name: a member of the column `headers`
// may be called `id`, too. Our `id`, like Debezium's, is the first one; headers
// that walpost puts behind those members are the last.
enum class Which { kFirst, kLast };

std::optional<std::string> Header(const rd_kafka_message_t& message,
                                  const char* name, Which which) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) !=
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  const void* value = nullptr;
  size_t size = 0;
  const rd_kafka_resp_err_t found =
      which == Which::kFirst
          ? rd_kafka_header_get(headers, 0, name, &value, &size)
          : rd_kafka_header_get_last(headers, name, &value, &size);
  if (found != RD_KAFKA_RESP_ERR_NO_ERROR || value == nullptr) {
    return std::nullopt;
  }
  return std::string(static_cast<const char*>(value), size);
}

// walpost has sent it beside the flow, on somebody's command.
bool IsReplayed(const rd_kafka_message_t& message) {
  for (const char* name :
       {"walpost-replay", "walpost-recovered", "walpost-retried"}) {
    if (Header(message, name, Which::kLast)) return true;
  }
  return false;
}

// The run of `recover` or of the snapshot that published the record.
std::string Repair(const rd_kafka_message_t& message) {
  for (const char* name : {"walpost-recovered", "walpost-snapshot"}) {
    const auto value = Header(message, name, Which::kLast);
    if (value) return fmt::format("{} {}", name, *value);
  }
  return "";
}

FoundRecord ToRecord(const rd_kafka_message_t& message) {
  FoundRecord record;
  record.topic = rd_kafka_topic_name(message.rkt);
  record.partition = message.partition;
  record.offset = message.offset;
  if (message.key != nullptr) {
    record.key.emplace(static_cast<const char*>(message.key), message.key_len);
  }
  if (message.payload != nullptr) {
    record.value.emplace(static_cast<const char*>(message.payload),
                         message.len);
  }
  record.id = Header(message, "id", Which::kFirst);
  record.position = Header(message, "walpost-position", Which::kLast);
  record.repair = Repair(message);
  const auto claim = Header(message, "walpost-claim-check", Which::kLast);
  const auto check = ParseClaimCheck(claim.value_or(""));
  if (check.ok()) record.claimed = check->sha256;
  record.is_dead_letter =
      Header(message, "walpost-dead-letter", Which::kLast).has_value();
  record.decision = Header(message, "walpost-decision", Which::kLast);
  record.is_replayed = IsReplayed(message);
  return record;
}

}  // namespace

absl::Status TopicReader::Failed(std::string_view attempted,
                                 rd_kafka_resp_err_t code) {
  return absl::UnavailableError(
      fmt::format("Kafka at {}: {}: {}", options_.brokers, attempted,
                  options_.explain(client_.get(), code)));
}

absl::StatusOr<TopicReader::Metadata> TopicReader::FetchMetadata() {
  const rd_kafka_metadata_t* metadata = nullptr;
  const rd_kafka_resp_err_t code =
      rd_kafka_metadata(client_.get(), 1, nullptr, &metadata, kAnswerMillis);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed("listing topics", code);
  }
  return Metadata(metadata, rd_kafka_metadata_destroy);
}

absl::StatusOr<std::unique_ptr<TopicReader>> TopicReader::Connect(
    const TopicReaderOptions& options) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [name, value] : options.properties) {
    WALPOST_ASSIGN_OR_RETURN(std::string now, value.Read());
    values.emplace_back(name, std::move(now));
  }
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char reason[512];
  for (const auto& [name, value] : values) {
    // A property that consumers reject is for producers.
    rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason,
                      sizeof(reason));
  }
  const std::string group =
      fmt::format("walpost-verify-{:08x}", std::random_device()());
  const std::pair<const char*, std::string> own[] = {
      {"bootstrap.servers", options.brokers},
      {"group.id", group},
      {"enable.auto.commit", "false"},
      {"enable.partition.eof", "true"},
      {"auto.offset.reset", "error"},
      {"isolation.level", "read_committed"},
      {"queued.max.messages.kbytes", "16384"},
      {"allow.auto.create.topics", "false"},
      // Kept in the main queue, for `explain`.
      {"log.queue", "true"},
  };
  for (const auto& [name, value] : own) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), reason, sizeof(reason)) !=
        RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return absl::InternalError(fmt::format("Kafka: {}", reason));
    }
  }
  rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
  rd_kafka_t* client =
      rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
  if (client == nullptr) {
    rd_kafka_conf_destroy(conf);
    return absl::InvalidArgumentError(
        fmt::format("kafka.properties: {}", reason));
  }
  rd_kafka_poll_set_consumer(client);
  rd_kafka_set_log_queue(client, nullptr);
  return std::unique_ptr<TopicReader>(new TopicReader(client, options));
}

absl::StatusOr<std::set<std::string>> TopicReader::FindTopics(
    const std::set<std::string>& names, const std::set<std::string>& prefixes) {
  WALPOST_ASSIGN_OR_RETURN(const Metadata metadata, FetchMetadata());
  std::set<std::string> found;
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const std::string topic = metadata->topics[i].topic;
    bool wanted = names.contains(topic);
    for (const std::string& prefix : prefixes) {
      wanted |= topic.starts_with(prefix);
    }
    if (wanted) found.insert(topic);
  }
  for (const std::string& name : names) {
    if (!found.contains(name)) WALPOST_RETURN_IF_ERROR(CheckMissing(name));
  }
  return found;
}

absl::Status TopicReader::CannotRead(std::string_view topic,
                                     rd_kafka_resp_err_t code) const {
  return absl::FailedPreconditionError(fmt::format(
      "Kafka: topic {} cannot be read: {}: the right READ is missing; "
      "kafka-acls.sh --bootstrap-server {} --add --allow-principal 'User:...' "
      "--operation Read --topic '{}'",
      topic, rd_kafka_err2str(code), options_.brokers, topic));
}

// The list of all topics omits a topic that the user may not see.
absl::Status TopicReader::CheckMissing(const std::string& topic) {
  const std::unique_ptr<rd_kafka_topic_t, decltype(&rd_kafka_topic_destroy)>
      handle(rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr),
             rd_kafka_topic_destroy);
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t code =
      rd_kafka_metadata(client_.get(), 0, handle.get(), &raw, kAnswerMillis);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed(fmt::format("asking for topic {}", topic), code);
  }
  const Metadata metadata(raw, rd_kafka_metadata_destroy);
  if (metadata->topic_cnt == 0 ||
      metadata->topics[0].err != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
    return absl::OkStatus();
  }
  return CannotRead(topic, metadata->topics[0].err);
}

absl::StatusOr<std::string> TopicReader::ClusterId() {
  WALPOST_RETURN_IF_ERROR(FetchMetadata().status());
  char* raw = rd_kafka_clusterid(client_.get(), kAnswerMillis);
  if (raw == nullptr) return "";
  std::string id = raw;
  rd_kafka_mem_free(client_.get(), raw);
  return id;
}

absl::StatusOr<TopicReader::Partitions> TopicReader::FindPartitions(
    const std::set<std::string>& topics) {
  WALPOST_ASSIGN_OR_RETURN(const Metadata metadata, FetchMetadata());
  Partitions partitions(rd_kafka_topic_partition_list_new(16),
                        rd_kafka_topic_partition_list_destroy);
  total_ = 0;
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& topic = metadata->topics[i];
    if (!topics.contains(topic.topic)) continue;
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Failed(fmt::format("reading topic {}", topic.topic), topic.err);
    }
    for (int32_t partition = 0; partition < topic.partition_cnt; ++partition) {
      int64_t begin = 0;
      int64_t end = 0;
      const rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
          client_.get(), topic.topic, partition, &begin, &end, kAnswerMillis);
      if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return Failed(
            fmt::format("asking where {}[{}] ends", topic.topic, partition),
            code);
      }
      if (begin == end) continue;
      total_ += end - begin;
      rd_kafka_topic_partition_list_add(partitions.get(), topic.topic,
                                        partition)
          ->offset = begin;
    }
  }
  return partitions;
}

absl::Status TopicReader::ReadFailure(const rd_kafka_message_t& message) {
  const std::string topic =
      message.rkt == nullptr ? "" : rd_kafka_topic_name(message.rkt);
  if (message.err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
    return CannotRead(topic, message.err);
  }
  return Failed(fmt::format("reading {}", topic), message.err);
}

absl::Status TopicReader::Read(
    const std::set<std::string>& topics,
    const std::function<absl::Status(FoundRecord&)>& take) {
  return ReadMessages(topics, [&take](const rd_kafka_message_t& message) {
    FoundRecord record = ToRecord(message);
    return take(record);
  });
}

// Stops at the end of each partition as the broker reports it, which counts the
// markers of transactions, too. Records appended meanwhile may be included.
absl::Status TopicReader::ReadMessages(const std::set<std::string>& topics,
                                       const TakeMessage& take) {
  WALPOST_ASSIGN_OR_RETURN(const Partitions partitions, FindPartitions(topics));
  int open = partitions->cnt;
  if (open == 0) return absl::OkStatus();
  const rd_kafka_resp_err_t assigned =
      rd_kafka_assign(client_.get(), partitions.get());
  if (assigned != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed("assigning partitions", assigned);
  }
  std::set<std::pair<std::string, int32_t>> ended;
  while (open > 0) {
    const Message message(rd_kafka_consumer_poll(client_.get(), kRecordMillis),
                          rd_kafka_message_destroy);
    if (message == nullptr) {
      return absl::UnavailableError(
          "Kafka: no record came for 30 s: are the brokers up?");
    }
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      const std::string topic = rd_kafka_topic_name(message->rkt);
      if (ended.emplace(topic, message->partition).second) --open;
    } else if (message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) {
      continue;  // librdkafka looks for a group that is not used here
    } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return ReadFailure(*message);
    } else {
      WALPOST_RETURN_IF_ERROR(take(*message));
    }
  }
  return absl::OkStatus();
}

}  // namespace walpost
