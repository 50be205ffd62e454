// KafkaOutput: how the benchmark's own programs produce, the same for all.
//
// The settings are walpost's defaults: idempotent, acks=all, no linger, no
// compression, Java's partitioner. So what differs between contenders is how
// they come by the events, not how they hand them over.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace walpost::bench {

// One event on its way out. Views are copied by Produce.
struct Event {
  std::string topic;
  std::string_view key;
  std::string_view value;
  std::string_view id;
};

// One producer. Every failure ends the process: a benchmark has no use for a
// contender that goes on without an event.
class KafkaOutput {
 public:
  explicit KafkaOutput(const std::string& brokers);
  ~KafkaOutput();
  KafkaOutput(const KafkaOutput&) = delete;
  KafkaOutput& operator=(const KafkaOutput&) = delete;

  // Hands one record over; waits while the producer's queue is full.
  void Produce(const Event& event);

  // Takes delivery reports in until at most `records` are unacknowledged.
  void WaitUntilInFlight(int64_t records);

  // Sends what is queued and returns when the brokers have acknowledged it.
  void Flush();

 private:
  static void OnDelivery(rd_kafka_t* producer, const rd_kafka_message_t* report,
                         void* self);

  rd_kafka_t* producer_ = nullptr;
  int64_t in_flight_ = 0;
};

// Says what failed and ends the process.
[[noreturn]] void Fail(const std::string& what);

}  // namespace walpost::bench
