// TopicIdentity: whether the topics are still those that have the events.
//
// Asks the brokers for the ids of topics: of those with events of before, ahead
// of the first record to each; of each other one, once it has an acknowledged
// record; of all, every half minute. Never blocks: an answer comes through the
// queue as an event.
//
// Owned by the Producer, whose client and queue outlive it.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "kafka/topic_ids.h"

namespace walpost {

class TopicIdentity {
 public:
  // All outlive it.
  TopicIdentity(rd_kafka_t* client, rd_kafka_queue_t* queue, TopicIds& ids)
      : client_(client), queue_(queue), ids_(ids) {}

  // Nothing goes to the topics that `ids` knows, until the brokers have said
  // that they are the same ones.
  void Expect();
  // kResourceExhausted: no record may go there yet.
  absl::Status MayProduce(std::string_view topic) const {
    const bool may = awaited_.empty() || !awaited_.contains(topic);
    return may ? absl::OkStatus() : Refusal(topic);
  }

  // Each second or so. `acknowledged`: topics with acknowledged records.
  void OnTick(const std::vector<std::string>& acknowledged, MonotonicTime now);
  // An answer, or that none came: RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT.
  void OnAnswer(rd_kafka_event_t* event);

 private:
  static constexpr std::chrono::seconds kAskAgainAfter{30};
  static constexpr std::chrono::milliseconds kRequestLimit{10'000};

  static absl::Status Refusal(std::string_view topic);
  void Ask(const std::vector<std::string>& topics);

  rd_kafka_t* client_;
  rd_kafka_queue_t* queue_;
  TopicIds& ids_;
  std::set<std::string, std::less<>> awaited_;  // no record may go there yet
  std::set<std::string> missing_;               // known once, and not there now
  bool is_asking_ = false;
  MonotonicTime asked_all_at_{};
};

}  // namespace walpost
