// TopicCreator: creates missing topics as configured, before the first record.
//
// Asks for the creation of each topic once, whether it exists or not: to ask
// whether it exists first would be a request more. Brokers that create topics
// by themselves would give it their own settings, so no record goes there
// before the answer. Never blocks: an answer comes through the queue as an
// event.
//
// Owned by a Producer, whose client and queue outlive it.
#pragma once

#include <librdkafka/rdkafka.h>

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/time.h"
#include "outbox/topic_creation.h"

namespace walpost {

class TopicCreator {
 public:
  // Both arguments outlive it.
  TopicCreator(rd_kafka_t* client, rd_kafka_queue_t* queue)
      : client_(client), queue_(queue) {}

  // Ok: a record may go to the topic. kResourceExhausted: not yet.
  // kUnavailable: it cannot be created as configured; asks again after a while.
  absl::Status MayProduce(std::string_view topic, const TopicCreation& creation,
                          MonotonicTime now);

  // Asks whether the brokers would create a topic that is missing, with their
  // own defaults; nothing is created. Asks again after a while.
  void Probe(const std::string& topic, MonotonicTime now);
  // Why the brokers would not create the topic, in their words; empty: they
  // would, or it is not known.
  std::string RefusalOf(const std::string& topic) const;

  // RD_KAFKA_EVENT_CREATETOPICS_RESULT.
  void OnAnswer(rd_kafka_event_t* event, MonotonicTime now);

 private:
  struct Attempt {
    bool is_asking = false;
    bool is_ready = false;
    bool is_probe = false;
    MonotonicTime again_at{};
    absl::Status refusal;
  };
  using Attempts = std::map<std::string, Attempt, std::less<>>;

  static void OnProbed(Attempt& probe, rd_kafka_resp_err_t code,
                       const std::string& detail);
  absl::Status Ask(Attempts::value_type& attempt,
                   const TopicCreation& creation);

  rd_kafka_t* client_;
  rd_kafka_queue_t* queue_;
  static constexpr size_t kMaxProbes = 100;

  Attempts attempts_;
  Attempts probes_;
};

}  // namespace walpost
