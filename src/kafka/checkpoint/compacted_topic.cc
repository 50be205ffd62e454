#include "kafka/checkpoint/compacted_topic.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/kafka_user.h"
#include "base/status_macros.h"
#include "checkpoint/uncommitted_checkpoint_scan.h"
#include "fmt/format.h"
#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/kafka_status.h"
#include "kafka/client/new_client.h"
#include "kafka/client/token_refresher.h"
#include "kafka/producer/producer_properties.h"

namespace walpost {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr int kPartition = 0;
// The shortest and the longest time that one call blocks.
constexpr milliseconds kFirstSlice{500};
constexpr milliseconds kMaxSlice{4'000};
constexpr milliseconds kPause{50};
constexpr std::chrono::seconds kRecordLimit{30};

using Metadata =
    KafkaHandle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>;

int ToMillis(MonotonicTime::duration duration) {
  const auto millis = std::chrono::ceil<milliseconds>(duration).count();
  return static_cast<int>(std::max<int64_t>(millis, 0));
}

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

// A consumer without a group.
absl::StatusOr<KafkaClient> MakeReadingClient(const ProducerOptions& options,
                                              Isolation isolation) {
  KafkaConf conf(rd_kafka_conf_new());
  for (const auto& [property, value] : options.properties) {
    WALPOST_ASSIGN_OR_RETURN(const std::string now, value.Read());
    WALPOST_RETURN_IF_ERROR(SetKafkaProperty(conf.get(), property, now));
  }
  const std::pair<const char*, std::string> own[] = {
      {"bootstrap.servers", options.brokers},
      {"client.id", options.client_id + "-checkpoint"},
      {"allow.auto.create.topics", "false"},
      {"enable.partition.eof", "true"},
      {"auto.offset.reset", "earliest"},
      {"isolation.level", isolation == Isolation::kCommitted
                              ? "read_committed"
                              : "read_uncommitted"},
      {"fetch.wait.max.ms", "10"},
      {"reconnect.backoff.ms", "50"},
      {"reconnect.backoff.max.ms", "1000"},
  };
  for (const auto& [property, value] : own) {
    WALPOST_RETURN_IF_ERROR(SetKafkaProperty(conf.get(), property, value));
  }
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  // Nobody reads this client's logs; its errors are sufficient.
  rd_kafka_conf_set_log_cb(conf.get(), nullptr);
  WALPOST_ASSIGN_OR_RETURN(rd_kafka_t * client,
                           NewKafkaClient(RD_KAFKA_CONSUMER, std::move(conf),
                                          options.token_command));
  return KafkaClient(client);
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

absl::StatusOr<KafkaEvent> CompactedTopic::Answer(
    const Step& step, const std::function<void(AdminRequest&)>& ask) {
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
  const absl::StatusOr<KafkaNewTopic> wanted = MakeNewTopic(name_, creation);
  if (!wanted.ok()) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: {}", step.attempted, std::string(wanted.status().message())));
  }
  const auto ask = [&](AdminRequest& request) {
    request.CreateTopics({&*wanted, 1}, AdminRequest::Creation::kCreate);
  };
  WALPOST_ASSIGN_OR_RETURN(const KafkaEvent event, Answer(step, ask));
  const rd_kafka_resp_err_t refusal = rd_kafka_event_error(event.get());
  if (refusal != RD_KAFKA_RESP_ERR_NO_ERROR) return Failed(refusal, step);
  const std::vector<CreatedTopic> created = CreatedTopics(event.get());
  if (created.empty()) return Abandon(step.attempted, "no answer");
  const CreatedTopic& its = created[0];
  if (its.error == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
  if (its.error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    return absl::UnavailableError(
        fmt::format("{}: another instance was faster", step.attempted));
  }
  return Failed(its.error, {fmt::format("{}: {}", step.attempted, its.detail),
                            step.right});
}

absl::StatusOr<CompactedTopic::Policy> CompactedTopic::CleanupPolicy() {
  const Policy no_right{"", "grant DESCRIBE_CONFIGS on it"};
  const Policy no_answer{"", "the brokers do not describe topics"};
  const Step step{fmt::format("describing topic {}", name_), "DescribeConfigs"};
  const auto ask = [&](AdminRequest& request) {
    request.DescribeSettings(RD_KAFKA_RESOURCE_TOPIC, name_);
  };
  WALPOST_ASSIGN_OR_RETURN(const KafkaEvent event, Answer(step, ask));
  const DescribedSettings settings = SettingsOf(event.get());
  if (settings.error == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE) {
    return no_answer;
  }
  if (settings.error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
    return no_right;
  }
  if (settings.error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Failed(settings.error, step);
  }
  const auto found = settings.values.find("cleanup.policy");
  return found == settings.values.end() ? no_right : Policy{found->second, ""};
}

absl::StatusOr<std::string> ReadTopicRecord(const ProducerOptions& kafka,
                                            const TopicRecord& record,
                                            std::stop_token stop) {
  WALPOST_ASSIGN_OR_RETURN(
      const std::unique_ptr<CompactedTopic> topic,
      CompactedTopic::Connect(kafka, record.topic, std::move(stop),
                              Clock::now() + kRecordLimit));
  WALPOST_RETURN_IF_ERROR(topic->Ensure().status());
  SourceIdentity identity;
  identity.system_identifier = record.system_identifier;
  const std::string wanted = record.key();
  std::string found;
  WALPOST_RETURN_IF_ERROR(topic->Read(
      [&](std::string_view key, std::optional<std::string_view> value) {
        if (key == wanted) found = value.value_or("");
      },
      UncommittedCheckpointScan(record.name, identity)));
  return found;
}

}  // namespace walpost
