#include "kafka/checkpoint/compacted_topic.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/kafka_user.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/kafka_status.h"
#include "kafka/client/token_refresher.h"
#include "kafka/topics/log_range.h"
#include "kafka/topics/new_topic.h"

namespace walpost {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr int kPartition = 0;
// The shortest and the longest time that one call blocks.
constexpr milliseconds kFirstSlice{500};
constexpr milliseconds kMaxSlice{4'000};
constexpr milliseconds kPause{50};

using Metadata =
    KafkaHandle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>;

int ToMillis(MonotonicTime::duration duration) {
  const auto millis = std::chrono::ceil<milliseconds>(duration).count();
  return static_cast<int>(std::max<int64_t>(millis, 0));
}

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompactedTopic>> CompactedTopic::Connect(
    const ProducerOptions& options, std::string name, std::stop_token stop,
    MonotonicTime deadline, Isolation isolation) {
  WALPOST_ASSIGN_OR_RETURN(KafkaClient client,
                           MakeReadingClient(options, isolation));
  std::unique_ptr<CompactedTopic> topic(new CompactedTopic(
      std::move(client), options, std::move(name), std::move(stop), deadline));
  if (topic->topic_ == nullptr) {
    return StatusFromKafka(rd_kafka_last_error(),
                           fmt::format("topic '{}'", topic->name_));
  }
  return topic;
}

CompactedTopic::CompactedTopic(KafkaClient client, ProducerOptions options,
                               std::string name, std::stop_token stop,
                               MonotonicTime deadline)
    : client_(std::move(client)),
      topic_(rd_kafka_topic_new(client_.get(), name.c_str(), nullptr)),
      options_(std::move(options)),
      name_(std::move(name)),
      stop_(std::move(stop)),
      deadline_(deadline) {}

absl::StatusOr<bool> CompactedTopic::Exists() {
  WALPOST_ASSIGN_OR_RETURN(const int partitions, CountPartitions());
  if (partitions > 1) {
    return absl::FailedPreconditionError(fmt::format(
        "topic {} has {} partitions, and checkpoints need one with a single "
        "partition: set checkpoint.topic to another, or delete it, if nothing "
        "else uses it, and it will be created again: kafka-topics.sh "
        "--bootstrap-server {} --delete --topic {}",
        name_, partitions, options_.brokers, name_));
  }
  return partitions > 0;
}

absl::StatusOr<CompactedTopic::Presence> CompactedTopic::Ensure() {
  Presence presence;
  WALPOST_ASSIGN_OR_RETURN(const bool exists, Exists());
  if (!exists) {
    WALPOST_RETURN_IF_ERROR(Create());
    presence.was_made = true;
    return presence;
  }
  WALPOST_ASSIGN_OR_RETURN(const Policy policy, CleanupPolicy());
  if (policy.name.empty()) {
    presence.warning = fmt::format(
        "whether topic {} has cleanup.policy=compact is unknown: {}", name_,
        policy.why_unknown);
  } else {
    WALPOST_RETURN_IF_ERROR(
        RequireCompaction(name_, policy.name, options_.brokers));
  }
  return presence;
}

absl::Status RequireCompaction(const std::string& topic,
                               const std::string& policy,
                               const std::string& brokers) {
  if (policy.empty() || policy == "compact") return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "topic {} has cleanup.policy={}, so that checkpoints would get lost or "
      "pile up; kafka-configs.sh --bootstrap-server {} --alter --entity-type "
      "topics --entity-name {} --add-config cleanup.policy=compact",
      topic, policy, brokers, topic));
}

// Up to the end of the log as it is now, not of what is committed by now: a
// transaction that is open may hide committed records behind it.
absl::Status CompactedTopic::Read(const Show& show,
                                  const UncommittedCheckpointScan& hidden) {
  LogRange log;
  WALPOST_RETURN_IF_ERROR(Repeat(ReadingStep(), [&](int timeout_millis) {
    return QueryLogRange(client_.get(), name_, kPartition, timeout_millis, log);
  }));
  return ReadRange(log, show, [&](int64_t next) {
    return MayStop({next, log.end}, hidden);
  });
}

CompactedTopic::Step CompactedTopic::ReadingStep() const {
  return {fmt::format("reading topic {}", name_), "Read"};
}

absl::StatusOr<bool> CompactedTopic::MayStop(const LogRange& range,
                                             UncommittedCheckpointScan hidden) {
  WALPOST_ASSIGN_OR_RETURN(
      const std::unique_ptr<CompactedTopic> uncommitted,
      Connect(options_, name_, stop_, deadline_, Isolation::kUncommitted));
  WALPOST_RETURN_IF_ERROR(uncommitted->ReadRange(
      range, [&](std::string_view key, auto) { hidden.Add(key); },
      [](int64_t) { return false; }));
  return !hidden.must_wait();
}

absl::Status CompactedTopic::ReadRange(const LogRange& log, const Show& show,
                                       const MayEnd& may_end) {
  const Step step = ReadingStep();
  if (rd_kafka_consume_start(topic_.get(), kPartition, log.begin) != 0) {
    return Failed(rd_kafka_last_error(), step);
  }
  absl::Status status;
  bool is_allowed = false;
  for (int64_t next = log.begin;
       status.ok() && (next < log.end || !is_allowed);) {
    const KafkaMessage message(rd_kafka_consume(
        topic_.get(), kPartition, static_cast<int>(kFirstSlice.count())));
    if (stop_.stop_requested() || Clock::now() >= deadline_) {
      status = Abandon(
          step.attempted,
          fmt::format("offset {} of {}; if it stays there, another program has "
                      "a transaction open: kafka-transactions.sh "
                      "--bootstrap-server {} describe-producers --topic {} "
                      "--partition {}",
                      next, log.end, options_.brokers, name_, kPartition));
    } else if (message == nullptr) {
      status = ClientError();
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      is_allowed = true;
      next = message->offset;  // compacted records are missing
      if (next >= log.end) continue;
      const absl::StatusOr<bool> ends = may_end(next);
      if (ends.ok() && *ends) break;
      status = ends.status();
    } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      status = Failed(message->err, step);
      if (MayPass(status)) status = absl::OkStatus();
    } else {
      is_allowed = true;
      next = message->offset + 1;
      const std::string_view key(static_cast<const char*>(message->key),
                                 message->key_len);
      std::optional<std::string_view> value;
      if (message->payload != nullptr) {
        value.emplace(static_cast<const char*>(message->payload), message->len);
      }
      show(key, value);
    }
  }
  rd_kafka_consume_stop(topic_.get(), kPartition);
  return status;
}

absl::Status CompactedTopic::Repeat(
    const Step& step, const std::function<rd_kafka_resp_err_t(int)>& call) {
  milliseconds slice = kFirstSlice;
  for (;;) {
    const MonotonicTime::duration left = deadline_ - Clock::now();
    const rd_kafka_resp_err_t code =
        call(ToMillis(std::min<MonotonicTime::duration>(slice, left)));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
    const absl::Status status = Failed(code, step);
    if (!MayPass(status)) return status;
    WALPOST_RETURN_IF_ERROR(ClientError());
    if (stop_.stop_requested() || Clock::now() >= deadline_) {
      return Abandon(step.attempted, rd_kafka_err2str(code));
    }
    slice = std::min(2 * slice, kMaxSlice);
  }
}

// Maps codes to the contract of a store: an operator grants rights.
absl::Status CompactedTopic::Failed(rd_kafka_resp_err_t code,
                                    const Step& step) const {
  if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
      code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: {}: the right {} is missing; {} --operation {} --topic '{}' "
        "(walpost check -c FILE tests the others)",
        step.attempted, rd_kafka_err2str(code), step.right,
        GrantTo(KafkaUserOf(options_.brokers, options_.properties)), step.right,
        name_));
  }
  const absl::Status status = StatusFromKafka(code, step.attempted);
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::FailedPreconditionError(status.message());
}

absl::Status CompactedTopic::Abandon(std::string_view attempted,
                                     std::string_view cause) const {
  if (stop_.stop_requested())
    return absl::CancelledError(std::string(attempted));
  return absl::UnavailableError(
      fmt::format("{}: not within the time limit: {}{}{}", attempted, cause,
                  last_client_error_.empty() ? "" : "; ", last_client_error_));
}

absl::Status CompactedTopic::ClientError() {
  const KafkaQueue queue(rd_kafka_queue_get_main(client_.get()));
  const int pause = static_cast<int>(kPause.count());
  while (const KafkaEvent event =
             KafkaEvent(rd_kafka_queue_poll(queue.get(), pause))) {
    if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_ERROR) continue;
    last_client_error_ = ExplainTokenError(
        client_.get(),
        WithoutTokenConfig(rd_kafka_event_error_string(event.get())));
    // The next token may be accepted.
    if (!options_.token_command.empty()) continue;
    const absl::Status status =
        Failed(rd_kafka_event_error(event.get()), {last_client_error_, "Read"});
    if (absl::IsFailedPrecondition(status)) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<KafkaEvent> CompactedTopic::Answer(const Step& step,
                                                  const AdminQuestion& ask) {
  KafkaEvent event = AskController(client_.get(), deadline_, ask, stop_);
  if (event == nullptr) return Abandon(step.attempted, "no answer");
  return event;
}

absl::StatusOr<int> CompactedTopic::CountPartitions() {
  int partitions = 0;
  const auto look = [&](int timeout_millis) {
    const rd_kafka_metadata_t* raw = nullptr;
    const rd_kafka_resp_err_t code = rd_kafka_metadata(
        client_.get(), /*all_topics=*/0, topic_.get(), &raw, timeout_millis);
    const Metadata metadata(raw);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return code;
    if (metadata->topic_cnt == 0) return RD_KAFKA_RESP_ERR__TIMED_OUT;
    const rd_kafka_metadata_topic_t& topic = metadata->topics[0];
    partitions = topic.partition_cnt;
    if (topic.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
        topic.err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) {
      partitions = 0;
      return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    return topic.err;
  };
  const Step step{fmt::format("looking for topic {}", name_), "Read"};
  WALPOST_RETURN_IF_ERROR(Repeat(step, look));
  return partitions;
}

absl::Status CompactedTopic::Create() {
  const Step step{fmt::format("making topic {}", name_), "Create"};
  // Only closed segments are compacted: after some 30,000 checkpoints.
  const TopicCreation creation{
      .partitions = 1,
      .config = {{"cleanup.policy", "compact"}, {"segment.bytes", "4194304"}}};
  std::string reason;
  const KafkaNewTopic wanted = MakeNewTopic(name_, creation, reason);
  if (wanted == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("{}: {}", step.attempted, reason));
  }
  std::array<rd_kafka_NewTopic_t*, 1> topics = {wanted.get()};
  WALPOST_ASSIGN_OR_RETURN(
      const KafkaEvent event,
      Answer(step, [&](auto* client, auto* options, auto* answers) {
        rd_kafka_CreateTopics(client, topics.data(), topics.size(), options,
                              answers);
      }));
  const rd_kafka_resp_err_t refusal = rd_kafka_event_error(event.get());
  if (refusal != RD_KAFKA_RESP_ERR_NO_ERROR) return Failed(refusal, step);
  size_t count = 0;
  const rd_kafka_topic_result_t** results = rd_kafka_CreateTopics_result_topics(
      rd_kafka_event_CreateTopics_result(event.get()), &count);
  if (count == 0) return Abandon(step.attempted, "no answer");
  const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[0]);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
  if (code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    return absl::UnavailableError(
        fmt::format("{}: another instance was faster", step.attempted));
  }
  const char* detail = rd_kafka_topic_result_error_string(results[0]);
  return Failed(code,
                {fmt::format("{}: {}", step.attempted, detail ? detail : ""),
                 step.right});
}

absl::StatusOr<CompactedTopic::Policy> CompactedTopic::CleanupPolicy() {
  const Policy no_right{"", "grant DESCRIBE_CONFIGS on it"};
  const Policy no_answer{"", "the brokers do not describe topics"};
  const Step step{fmt::format("describing topic {}", name_), "DescribeConfigs"};
  const KafkaConfigResource resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name_.c_str()));
  std::array<rd_kafka_ConfigResource_t*, 1> resources = {resource.get()};
  WALPOST_ASSIGN_OR_RETURN(
      const KafkaEvent event,
      Answer(step, [&](auto* client, auto* options, auto* answers) {
        rd_kafka_DescribeConfigs(client, resources.data(), resources.size(),
                                 options, answers);
      }));
  rd_kafka_resp_err_t code = rd_kafka_event_error(event.get());
  if (code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE) return no_answer;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Failed(code, step);
  size_t count = 0;
  const rd_kafka_ConfigResource_t** described =
      rd_kafka_DescribeConfigs_result_resources(
          rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  if (count == 0) return no_right;
  code = rd_kafka_ConfigResource_error(described[0]);
  if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) return no_right;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Failed(code, step);
  const rd_kafka_ConfigEntry_t** entries =
      rd_kafka_ConfigResource_configs(described[0], &count);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = rd_kafka_ConfigEntry_name(entries[i]);
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (name == "cleanup.policy" && value != nullptr) {
      return Policy{value, ""};
    }
  }
  return no_right;
}

}  // namespace walpost
