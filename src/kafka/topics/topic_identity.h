// TopicIdentity: checks that the topics are still those that have the events.
//
// Asks the brokers for topic ids: for topics with earlier events, before the
// first record to each; for each other topic, after its first acknowledged
// record; for all, every half minute. Never blocks: an answer comes through the
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
#include "delivery/topic_ids.h"

namespace walpost {

class TopicIdentity {
 public:
  // All arguments outlive it.
  TopicIdentity(rd_kafka_t* client, rd_kafka_queue_t* queue, TopicIds& ids)
      : client_(client), queue_(queue), ids_(ids) {}

  // Holds records to the topics that `ids` knows, until the brokers have
  // confirmed that these are the same.
  void Expect();
  // kResourceExhausted: no record may go to the topic yet.
  absl::Status MayProduce(std::string_view topic) const {
    const bool may = awaited_.empty() || !awaited_.contains(topic);
    return may ? absl::OkStatus() : Refusal(topic);
  }

  // True until the brokers have answered what Expect asked.
  bool is_comparing() const { return !awaited_.empty(); }

  // One of the topics that have events so far; empty: none is known.
  std::string AnyTopic() const { return ids_.AnyTopic(); }

  // Call it every second. `acknowledged`: topics with acknowledged records.
  void OnTick(const std::vector<std::string_view>& acknowledged,
              MonotonicTime now);
  // An answer, or none: RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT.
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
  std::set<std::string> missing_;               // known once, now missing
  bool is_asking_ = false;
  MonotonicTime asked_all_at_{};
};

}  // namespace walpost
