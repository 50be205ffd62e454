#include "kafka/topics/topic_creator.h"

#include <array>
#include <chrono>

#include "fmt/format.h"
#include "kafka/client/handles.h"
#include "kafka/topics/new_topic.h"
#include "log/log.h"

namespace walpost {
namespace {

constexpr int kRequestMillis = 10'000;
constexpr std::chrono::seconds kAskAgainAfter{3};

absl::Status CannotCreate(std::string_view topic, std::string_view detail) {
  return absl::UnavailableError(fmt::format(
      "topic {} cannot be created: {}; correct create_topics, or create the "
      "topic by hand",
      topic, detail));
}

// The topic may be there: its records show it.
bool IsUndecided(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
         code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED ||
         code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
}

struct Answer {
  rd_kafka_resp_err_t code;
  std::string detail;
};

Answer AnswerOf(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t failure = rd_kafka_event_error(event);
  if (failure != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {failure, rd_kafka_event_error_string(event)};
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** results = rd_kafka_CreateTopics_result_topics(
      rd_kafka_event_CreateTopics_result(event), &count);
  if (count == 0) return {RD_KAFKA_RESP_ERR__BAD_MSG, "no answer"};
  const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[0]);
  const char* detail = rd_kafka_topic_result_error_string(results[0]);
  return {code, detail == nullptr ? rd_kafka_err2str(code) : detail};
}

}  // namespace

absl::Status TopicCreator::MayProduce(std::string_view topic,
                                      const TopicCreation& creation,
                                      MonotonicTime now) {
  auto found = attempts_.find(topic);
  if (found == attempts_.end()) {
    found = attempts_.emplace(std::string(topic), Attempt()).first;
  }
  Attempt& attempt = found->second;
  if (attempt.is_ready) return absl::OkStatus();
  if (!attempt.is_asking && now >= attempt.again_at) {
    absl::Status asked = Ask(*found, creation);
    if (!asked.ok()) {
      attempt.refusal = std::move(asked);
      attempt.again_at = now + kAskAgainAfter;
    }
  }
  if (!attempt.refusal.ok()) return attempt.refusal;
  return absl::ResourceExhaustedError(
      fmt::format("topic {} is being created", topic));
}

void TopicCreator::Probe(const std::string& topic, MonotonicTime now) {
  if (probes_.size() >= kMaxProbes && !probes_.contains(topic)) return;
  auto& probe = *probes_.try_emplace(topic).first;
  if (probe.second.is_asking || now < probe.second.again_at) return;
  probe.second.is_probe = true;
  probe.second.again_at = now + kAskAgainAfter;
  (void)Ask(probe, TopicCreation());
}

// Without an answer, the last one holds.
void TopicCreator::OnProbed(Attempt& probe, rd_kafka_resp_err_t code,
                            const std::string& detail) {
  if (code < 0) return;
  const bool exists = code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
  probe.refusal = code == RD_KAFKA_RESP_ERR_NO_ERROR || exists
                      ? absl::OkStatus()
                      : absl::UnavailableError(detail);
}

std::string TopicCreator::RefusalOf(const std::string& topic) const {
  const auto found = probes_.find(topic);
  if (found == probes_.end() || found->second.refusal.ok()) return "";
  return fmt::format("the brokers would not create it: {}",
                     std::string(found->second.refusal.message()));
}

absl::Status TopicCreator::Ask(Attempts::value_type& attempt,
                               const TopicCreation& creation) {
  const std::string& topic = attempt.first;
  std::string rejection;
  const KafkaNewTopic wanted = MakeNewTopic(topic, creation, rejection);
  if (wanted == nullptr) return CannotCreate(topic, rejection);
  char reason[512];
  const KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(client_, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kRequestMillis,
                                            reason, sizeof(reason));
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), kRequestMillis,
                                              reason, sizeof(reason));
  rd_kafka_AdminOptions_set_opaque(options.get(), &attempt);
  if (attempt.second.is_probe) {
    rd_kafka_AdminOptions_set_validate_only(options.get(), 1, reason,
                                            sizeof(reason));
  }
  std::array<rd_kafka_NewTopic_t*, 1> topics = {wanted.get()};
  rd_kafka_CreateTopics(client_, topics.data(), topics.size(), options.get(),
                        queue_);
  attempt.second.is_asking = true;
  return absl::OkStatus();
}

void TopicCreator::OnAnswer(rd_kafka_event_t* event, MonotonicTime now) {
  auto& [topic, attempt] =
      *static_cast<Attempts::value_type*>(rd_kafka_event_opaque(event));
  const Answer answer = AnswerOf(event);
  attempt.is_asking = false;
  if (attempt.is_probe) return OnProbed(attempt, answer.code, answer.detail);
  if (answer.code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    LogInfo({{"topic", topic}}, "created topic {}", topic);
  } else if (IsUndecided(answer.code)) {
    LogWarn({{"topic", topic}},
            "topic {} may not be created, if it is missing: {}; grant "
            "CREATE on it, or remove create_topics",
            topic, answer.detail);
  } else if (answer.code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    attempt.refusal = CannotCreate(topic, answer.detail);
    attempt.again_at = now + kAskAgainAfter;
    return;
  }
  attempt.is_ready = true;
}

}  // namespace walpost
