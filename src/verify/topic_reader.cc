#include "verify/topic_reader.h"

#include <random>
#include <string>

#include "base/kafka_cluster.h"
#include "base/kafka_user.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "verify/found_record.h"

namespace walpost {

using std::chrono::milliseconds;

namespace {

constexpr int kAnswerMillis = 10'000;
// Without a record for this time, the brokers count as unreachable.
constexpr int kMaxTaken = 10'000;  // in one call
constexpr milliseconds kRecordLimit{30'000};
constexpr milliseconds kSlice{1'000};

using Message =
    std::unique_ptr<rd_kafka_message_t, decltype(&rd_kafka_message_destroy)>;

// A property that is for producers is no mistake.
void LogUnlessOfProperties(const rd_kafka_t* client, int level,
                           const char* facility, const char* text) {
  if (std::string_view(facility) == "CONFWARN") return;
  rd_kafka_log_print(client, level, facility, text);
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
  rd_kafka_conf_set_log_cb(conf, LogUnlessOfProperties);
  char reason[512];
  for (const auto& [name, value] : values) {
    // A property that consumers reject is for producers.
    rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason,
                      sizeof(reason));
  }
  const std::string group =
      fmt::format("walpost-verify-{:08x}", std::random_device()());
  using Isolation = TopicReaderOptions::Isolation;
  const std::pair<const char*, std::string> own[] = {
      {"bootstrap.servers", options.brokers},
      {"group.id", group},
      {"enable.auto.commit", "false"},
      {"enable.partition.eof", "true"},
      // What is deleted before it is read.
      {"auto.offset.reset", "earliest"},
      {"isolation.level", options.isolation == Isolation::kCommitted
                              ? "read_committed"
                              : "read_uncommitted"},
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
  const absl::StatusOr<rd_kafka_t*> client = options.create(conf);
  if (!client.ok())
    return absl::InvalidArgumentError(client.status().message());
  rd_kafka_poll_set_consumer(*client);
  rd_kafka_set_log_queue(*client, nullptr);
  return std::unique_ptr<TopicReader>(new TopicReader(*client, options));
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
      "Kafka: topic {} cannot be read: {}: the right READ is missing; {} "
      "--operation Read --topic '{}'",
      topic, rd_kafka_err2str(code),
      GrantTo(KafkaUserOf(options_.brokers, options_.properties)), topic));
}

// What the brokers say about a topic by its name. They do not create it.
absl::StatusOr<rd_kafka_resp_err_t> TopicReader::ErrorOf(
    const std::string& topic) {
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
  return metadata->topic_cnt == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR
                                  : metadata->topics[0].err;
}

// The list of all topics omits a topic that the user may not see.
absl::Status TopicReader::CheckMissing(const std::string& topic) {
  WALPOST_ASSIGN_OR_RETURN(const rd_kafka_resp_err_t error, ErrorOf(topic));
  if (error != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(CannotRead(topic, error).message());
}

// Whoever may see all topics of a prefix may also ask for one of that name.
absl::StatusOr<bool> TopicReader::MayHide(
    const std::set<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    WALPOST_ASSIGN_OR_RETURN(const rd_kafka_resp_err_t error, ErrorOf(prefix));
    if (error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return true;
  }
  return false;
}

absl::StatusOr<std::string> TopicReader::ClusterId() {
  WALPOST_RETURN_IF_ERROR(FetchMetadata().status());
  char* raw = rd_kafka_clusterid(client_.get(), 0);
  if (raw == nullptr) return kUnnamedCluster;
  std::string id = raw;
  rd_kafka_mem_free(client_.get(), raw);
  return id;
}

TopicReader::Partitions TopicReader::EmptyList() {
  return {rd_kafka_topic_partition_list_new(16),
          rd_kafka_topic_partition_list_destroy};
}

absl::StatusOr<TopicReader::Partitions> TopicReader::ListPartitions(
    const std::set<std::string>& topics) {
  WALPOST_ASSIGN_OR_RETURN(const Metadata metadata, FetchMetadata());
  Partitions all = EmptyList();
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& topic = metadata->topics[i];
    if (!topics.contains(topic.topic)) continue;
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Failed(fmt::format("reading topic {}", topic.topic), topic.err);
    }
    for (int32_t partition = 0; partition < topic.partition_cnt; ++partition) {
      rd_kafka_topic_partition_list_add(all.get(), topic.topic, partition);
    }
  }
  return all;
}

absl::StatusOr<TopicReader::Partitions> TopicReader::FindPartitions(
    const std::set<std::string>& topics) {
  WALPOST_ASSIGN_OR_RETURN(const Partitions all, ListPartitions(topics));
  WALPOST_ASSIGN_OR_RETURN(const Offsets begins,
                           ListOffsets(*all, RD_KAFKA_OFFSET_SPEC_EARLIEST));
  WALPOST_ASSIGN_OR_RETURN(const Offsets ends,
                           ListOffsets(*all, RD_KAFKA_OFFSET_SPEC_LATEST));
  Partitions partitions = EmptyList();
  total_ = 0;
  unread_ = UnreadPartitions();
  for (const auto& [place, begin] : begins) {
    const auto end = ends.find(place);
    if (end == ends.end() || begin >= end->second) continue;
    total_ += end->second - begin;
    unread_.Add(place.first, place.second, begin, end->second);
    rd_kafka_topic_partition_list_add(partitions.get(), place.first.c_str(),
                                      place.second)
        ->offset = begin;
  }
  return partitions;
}

// Not rd_kafka_query_watermark_offsets: its end is the committed one.
absl::StatusOr<TopicReader::Offsets> TopicReader::ListOffsets(
    const rd_kafka_topic_partition_list_t& partitions,
    rd_kafka_OffsetSpec_t which) {
  Offsets offsets;
  if (partitions.cnt == 0) return offsets;
  const Partitions asked(rd_kafka_topic_partition_list_copy(&partitions),
                         rd_kafka_topic_partition_list_destroy);
  for (int i = 0; i < asked->cnt; ++i) asked->elems[i].offset = which;
  const std::unique_ptr<rd_kafka_AdminOptions_t,
                        decltype(&rd_kafka_AdminOptions_destroy)>
      options(rd_kafka_AdminOptions_new(client_.get(),
                                        RD_KAFKA_ADMIN_OP_LISTOFFSETS),
              rd_kafka_AdminOptions_destroy);
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kAnswerMillis,
                                            nullptr, 0);
  const std::unique_ptr<rd_kafka_queue_t, decltype(&rd_kafka_queue_destroy)>
      queue(rd_kafka_queue_new(client_.get()), rd_kafka_queue_destroy);
  rd_kafka_ListOffsets(client_.get(), asked.get(), options.get(), queue.get());
  const std::unique_ptr<rd_kafka_event_t, decltype(&rd_kafka_event_destroy)>
      event(rd_kafka_queue_poll(queue.get(), kAnswerMillis),
            rd_kafka_event_destroy);
  const rd_kafka_resp_err_t failed = event == nullptr
                                         ? RD_KAFKA_RESP_ERR__TIMED_OUT
                                         : rd_kafka_event_error(event.get());
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed("asking where partitions end", failed);
  }
  size_t count = 0;
  const auto** found = rd_kafka_ListOffsets_result_infos(
      rd_kafka_event_ListOffsets_result(event.get()), &count);
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_topic_partition_t* partition =
        rd_kafka_ListOffsetsResultInfo_topic_partition(found[i]);
    rd_kafka_resp_err_t error = partition->err;
    // Its leader has not answered: librdkafka (2.15) sets no error then.
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR && partition->offset < 0) {
      error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    }
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Failed(fmt::format("asking where {}[{}] ends", partition->topic,
                                partition->partition),
                    error);
    }
    offsets[{partition->topic, partition->partition}] = partition->offset;
  }
  return offsets;
}

absl::StatusOr<std::vector<PartitionStart>> TopicReader::FindStarts(
    const std::set<std::string>& topics) {
  WALPOST_ASSIGN_OR_RETURN(const Partitions all, ListPartitions(topics));
  WALPOST_ASSIGN_OR_RETURN(Offsets ends,
                           ListOffsets(*all, RD_KAFKA_OFFSET_SPEC_LATEST));
  WALPOST_ASSIGN_OR_RETURN(const Offsets begins,
                           ListOffsets(*all, RD_KAFKA_OFFSET_SPEC_EARLIEST));
  std::vector<PartitionStart> starts;
  for (const auto& [place, begin] : begins) {
    starts.push_back({place.first, place.second, begin, ends[place]});
  }
  return starts;
}

absl::StatusOr<DeletedRecords> TopicReader::AddDeletedRecords(
    const std::set<std::string>& topics, AuditDatabase& audit) {
  DeletedRecords deleted;
  WALPOST_ASSIGN_OR_RETURN(const std::vector<PartitionStart> starts,
                           FindStarts(topics));
  std::set<std::string> existing;
  for (const PartitionStart& start : starts) {
    deleted.may_be_some |= start.begin > 0;
    existing.insert(start.topic);
    WALPOST_RETURN_IF_ERROR(audit.AddPartition(start));
  }
  for (const std::string& topic : topics) {
    if (!existing.contains(topic)) continue;
    const TopicConfig config = Describe(topic);
    const auto policy = config.find("cleanup.policy");
    if (policy == config.end()) {
      deleted.unseen_topic = topic;
    } else if (policy->second.find("compact") != std::string::npos) {
      deleted.may_be_some = true;
      WALPOST_RETURN_IF_ERROR(audit.AddCompacted(topic));
    }
  }
  return deleted;
}

TopicConfig TopicReader::Describe(const std::string& topic) {
  return options_.describe(client_.get(), topic);
}

TopicConfig TopicReader::DescribeBroker() {
  const auto metadata = FetchMetadata();
  if (!metadata.ok() || (*metadata)->broker_cnt == 0) return {};
  return options_.describe_broker(client_.get(),
                                  std::to_string((*metadata)->brokers[0].id));
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
    FoundRecord record = ToFoundRecord(message);
    return take(record);
  });
}

// Records that are appended meanwhile may be included.
absl::Status TopicReader::ReadMessages(const std::set<std::string>& topics,
                                       const TakeMessage& take) {
  WALPOST_ASSIGN_OR_RETURN(const Partitions partitions, FindPartitions(topics));
  if (unread_.empty()) return absl::OkStatus();
  const rd_kafka_resp_err_t assigned =
      rd_kafka_assign(client_.get(), partitions.get());
  if (assigned != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed("assigning partitions", assigned);
  }
  milliseconds silence{0};
  while (!unread_.empty()) {
    const Message message(
        rd_kafka_consumer_poll(client_.get(), static_cast<int>(kSlice.count())),
        rd_kafka_message_destroy);
    if (message == nullptr) {
      silence += kSlice;
      WALPOST_RETURN_IF_ERROR(CheckSilence(silence));
      continue;
    }
    silence = milliseconds(0);
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      unread_.OnEnd(rd_kafka_topic_name(message->rkt), message->partition,
                    message->offset);
    } else if (message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) {
      continue;  // librdkafka looks for a group that is not used here
    } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return ReadFailure(*message);
    } else {
      WALPOST_RETURN_IF_ERROR(take(*message));
      unread_.OnRecord(rd_kafka_topic_name(message->rkt), message->partition,
                       message->offset);
    }
  }
  // A broker answers in order: each later question would wait for a fetch that
  // waits for records.
  rd_kafka_assign(client_.get(), nullptr);
  return absl::OkStatus();
}

absl::Status TopicReader::Follow(const std::set<std::string>& prefixes) {
  WALPOST_ASSIGN_OR_RETURN(const std::set<std::string> topics,
                           FindTopics({}, prefixes));
  WALPOST_ASSIGN_OR_RETURN(const Partitions all, ListPartitions(topics));
  Partitions added = EmptyList();
  for (int i = 0; i < all->cnt; ++i) {
    const rd_kafka_topic_partition_t& partition = all->elems[i];
    if (partition.partition < followed_[partition.topic]) continue;
    rd_kafka_topic_partition_list_add(added.get(), partition.topic,
                                      partition.partition)
        ->offset = 0;
  }
  if (!is_following_) {
    WALPOST_ASSIGN_OR_RETURN(const Offsets ends,
                             ListOffsets(*added, RD_KAFKA_OFFSET_SPEC_LATEST));
    for (int i = 0; i < added->cnt; ++i) {
      rd_kafka_topic_partition_t& partition = added->elems[i];
      partition.offset = ends.at({partition.topic, partition.partition});
    }
  }
  is_following_ = true;
  for (int i = 0; i < added->cnt; ++i) ++followed_[added->elems[i].topic];
  if (added->cnt == 0) return absl::OkStatus();
  const std::unique_ptr<rd_kafka_error_t, decltype(&rd_kafka_error_destroy)>
      error(rd_kafka_incremental_assign(client_.get(), added.get()),
            rd_kafka_error_destroy);
  if (error == nullptr) return absl::OkStatus();
  return Failed("assigning partitions", rd_kafka_error_code(error.get()));
}

absl::Status TopicReader::TakeNew(const TakeMessage& take) {
  for (int i = 0; i < kMaxTaken; ++i) {
    const Message message(rd_kafka_consumer_poll(client_.get(), 0),
                          rd_kafka_message_destroy);
    if (message == nullptr) return absl::OkStatus();
    const rd_kafka_resp_err_t error = message->err;
    if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF ||
        error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) {
      continue;
    }
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return ReadFailure(*message);
    WALPOST_RETURN_IF_ERROR(take(*message));
  }
  return absl::OkStatus();
}

std::optional<int32_t> TopicReader::PartitionOf(const std::string& topic,
                                                std::string_view key) const {
  const auto found = followed_.find(topic);
  if (found == followed_.end()) return std::nullopt;
  // As the producer chooses it (kafka/producer/producer_properties.h).
  return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(),
                                          found->second, nullptr, nullptr);
}

absl::Status TopicReader::CheckSilence(milliseconds silence) const {
  if (!unread_.AwaitOnlyTransactions()) {
    if (silence < kRecordLimit) return absl::OkStatus();
    return absl::UnavailableError(
        "Kafka: no record came for 30 s: are the brokers up?");
  }
  if (silence < options_.transaction_limit) return absl::OkStatus();
  return absl::UnavailableError(fmt::format(
      "Kafka: {}: a transaction has been open for {} s and hides what follows; "
      "kafka-transactions.sh --bootstrap-server {} describe-producers "
      "--topic {} --partition {} shows its producer",
      unread_.Describe(), silence.count() / 1000, options_.brokers,
      unread_.first().first, unread_.first().second));
}

}  // namespace walpost
