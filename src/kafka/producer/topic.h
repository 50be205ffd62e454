// Topic: one of a producer's topics.
//
// Partitions are chosen by key, like Java's producer and Debezium do (murmur2);
// at random for records without a key. The first record of each partition is
// sent alone (FirstRecordBarrier).
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kafka/producer/first_record_barrier.h"
#include "kafka/topics/offset_regression_detector.h"
#include "outbox/event.h"

namespace walpost {

class Topic {
 public:
  // `offsets` outlives it. kInvalidArgument: librdkafka rejects the name.
  static absl::StatusOr<std::unique_ptr<Topic>> Create(
      rd_kafka_t* client, const std::string& name, PartitionOffsets& offsets);

  explicit Topic(PartitionOffsets& offsets) : offsets_(offsets) {}

  // The topic of a delivery report.
  static Topic& Of(const rd_kafka_message_t& message) {
    return *static_cast<Topic*>(rd_kafka_topic_opaque(message.rkt));
  }

  // Releases the handle. The client may call this object until it is destroyed.
  void Close() { handle_.reset(); }

  rd_kafka_topic_t* handle() const { return handle_.get(); }

  // 0: not known yet.
  int32_t partitions() const {
    return partitions_.load(std::memory_order_relaxed);
  }

  // True if a record of this key may be produced now. If not, ask again after
  // the next report.
  bool MayProduce(const Value& key) const {
    return !MayStart(key) || starts_.MayProduce(PartitionOf(*key));
  }
  // A record was accepted.
  bool has_records() const { return has_records_; }
  // The record was accepted.
  void OnProduced(const Value& key, Sequence sequence) {
    has_records_ = true;
    if (MayStart(key)) starts_.OnProduced(PartitionOf(*key), sequence);
  }
  // Reports for this topic, including records without a key.
  void OnAcknowledged(int32_t partition, Sequence sequence) {
    starts_.OnAcknowledged(partition, sequence);
  }
  PartitionOffsets& offsets() { return offsets_; }
  void OnNotDelivered(Sequence sequence) { starts_.OnNotDelivered(sequence); }

 private:
  struct Destroy {
    void operator()(rd_kafka_topic_t* topic) const {
      rd_kafka_topic_destroy(topic);
    }
  };

  // Called by librdkafka on any thread: only it knows their number.
  static int32_t Choose(const rd_kafka_topic_t* handle, const void* key,
                        size_t key_size, int32_t partitions, void* topic,
                        void* sequence);

  // True if a record of this key may be the first of its partition.
  bool MayStart(const Value& key) const {
    return key.has_value() && !starts_.AllStarted(partitions());
  }
  // FirstRecordBarrier::kUnassigned: not known yet.
  int32_t PartitionOf(std::string_view key) const;

  std::unique_ptr<rd_kafka_topic_t, Destroy> handle_;
  std::atomic<int32_t> partitions_ = 0;
  FirstRecordBarrier starts_;
  bool has_records_ = false;
  PartitionOffsets& offsets_;
};

}  // namespace walpost
