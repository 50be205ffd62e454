// Topic: one of a producer's topics.
//
// Partitions are chosen by key, unless the record has one, like Java's producer
// and Debezium do (murmur2); at random for records without a key. The first
// record of each partition is sent alone (FirstRecordBarrier).
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kafka/producer/first_record_barrier.h"
#include "kafka/topics/offset_regression_detector.h"
#include "outbox/record.h"

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

  // True if the record may be produced now. If not, ask again after the next
  // report.
  bool MayProduce(const Record& record) const {
    return !MayStart(record) || starts_.MayProduce(PartitionOf(record));
  }
  // A record was accepted.
  bool has_records() const { return has_records_; }
  // The record was accepted.
  void OnProduced(const Record& record, Sequence sequence) {
    has_records_ = true;
    if (MayStart(record)) starts_.OnProduced(PartitionOf(record), sequence);
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

  // True if the record may be the first of its partition.
  bool MayStart(const Record& record) const {
    const bool has_place = record.key.has_value() || record.partition;
    return has_place && !starts_.AllStarted(partitions());
  }
  // FirstRecordBarrier::kUnassigned: not known yet. Requires a key, if the
  // record has no partition.
  int32_t PartitionOf(const Record& record) const;

  std::unique_ptr<rd_kafka_topic_t, Destroy> handle_;
  std::atomic<int32_t> partitions_ = 0;
  FirstRecordBarrier starts_;
  bool has_records_ = false;
  PartitionOffsets& offsets_;
};

}  // namespace walpost
