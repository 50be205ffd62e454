#include "kafka/topics/topic_creator.h"

#include <chrono>

#include "fmt/format.h"
#include "kafka/client/admin_request.h"
#include "log/log.h"

namespace walpost {
namespace {

constexpr std::chrono::seconds kRequestLimit{10};
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

// The one topic of a request.
CreatedTopic AnswerOf(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t failure = rd_kafka_event_error(event);
  if (failure != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {"", failure, rd_kafka_event_error_string(event)};
  }
  const std::vector<CreatedTopic> created = CreatedTopics(event);
  if (created.empty()) return {"", RD_KAFKA_RESP_ERR__BAD_MSG, "no answer"};
  return created[0];
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
  const absl::StatusOr<KafkaNewTopic> wanted = MakeNewTopic(topic, creation);
  if (!wanted.ok()) {
    return CannotCreate(topic, std::string(wanted.status().message()));
  }
  AdminRequest(client_, queue_)
      .Within(kRequestLimit)
      .Creating(kRequestLimit)
      .Marked(&attempt)
      .CreateTopics({&*wanted, 1}, attempt.second.is_probe
                                       ? AdminRequest::Creation::kValidate
                                       : AdminRequest::Creation::kCreate);
  attempt.second.is_asking = true;
  return absl::OkStatus();
}

void TopicCreator::OnAnswer(rd_kafka_event_t* event, MonotonicTime now) {
  auto& [topic, attempt] =
      *static_cast<Attempts::value_type*>(rd_kafka_event_opaque(event));
  const CreatedTopic answer = AnswerOf(event);
  attempt.is_asking = false;
  if (attempt.is_probe) return OnProbed(attempt, answer.error, answer.detail);
  if (answer.error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    LogInfo({{"topic", topic}}, "created topic {}", topic);
  } else if (IsUndecided(answer.error)) {
    LogWarn({{"topic", topic}},
            "topic {} may not be created, if it is missing: {}; grant "
            "CREATE on it, or remove create_topics",
            topic, answer.detail);
  } else if (answer.error != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    attempt.refusal = CannotCreate(topic, answer.detail);
    attempt.again_at = now + kAskAgainAfter;
    return;
  }
  attempt.is_ready = true;
}

}  // namespace walpost
