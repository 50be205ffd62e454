// Topic: one of a producer's topics.
//
// Partitions are chosen by key, like Java's producer and Debezium do (murmur2),
// unless the record names one; at random for records without a key. The first
// record of each partition is sent alone (FirstRecordBarrier).
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "kafka/producer/first_record_barrier.h"
#include "kafka/topics/offset_regression_detector.h"
#include "outbox/record.h"

namespace walpost {

// The record names a partition that the topic does not have.
absl::Status PartitionMissing(std::string_view topic, int32_t partition);

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

  // True if records wait until the brokers know the topic. A record that names
  // its partition does not show that.
  bool IsUnknown() const {
    return has_records_ && !names_partitions_ && partitions() == 0;
  }

  // True if the record may be produced now. If not, ask again after the next
  // report.
  bool MayProduce(const Record& record) const {
    return !MayStart(record) || starts_.MayProduce(PartitionOf(record));
  }
  // True if a record was accepted.
  bool has_records() const { return has_records_; }
  // The record was accepted.
  void OnProduced(const Record& record, Sequence sequence) {
    has_records_ = true;
    names_partitions_ |= record.partition.has_value();
    if (MayStart(record)) starts_.OnProduced(PartitionOf(record), sequence);
  }
  // librdkafka knows no such partition. True: neither do the brokers, as of a
  // moment ago. False: they are asked; try again.
  bool IsPartitionMissing(rd_kafka_t* client, MonotonicTime now);
  // The meaning of a report "unknown partition". True: the record has named a
  // partition that the topic lacks, and was queued before librdkafka knew the
  // topic. False: the topic has lost the partition since, with all its records.
  bool LacksNamedPartition() const {
    return names_partitions_ && !starts_.AnyStarted();
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

  // True if it may be the first record of its partition.
  bool MayStart(const Record& record) const {
    return record.partition ||
           (record.key && !starts_.AllStarted(partitions()));
  }
  // FirstRecordBarrier::kUnassigned: not known yet. Requires a key, if the
  // record has no partition.
  int32_t PartitionOf(const Record& record) const;

  std::unique_ptr<rd_kafka_topic_t, Destroy> handle_;
  std::atomic<int32_t> partitions_ = 0;
  FirstRecordBarrier starts_;
  bool has_records_ = false;
  bool names_partitions_ = false;
  std::optional<MonotonicTime> asked_at_;  // for the number of partitions
  PartitionOffsets& offsets_;
};

}  // namespace walpost
