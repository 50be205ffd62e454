// TopicCache: topic name -> librdkafka's handle, and what we know beside it.
//
// Producing by name takes a client-wide lock and walks a list; a handle does
// not. Every topic costs each broker thread some time per round, so their
// number is limited: a template that makes a topic of an unbounded column is
// a mistake.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kafka/partition_starts.h"

namespace walpost {

// A topic of one producer. Partitions are chosen by key, as Java's producer and
// Debezium do it (murmur2); at random for records without one.
class Topic {
 public:
  // The topic that a delivery report is of.
  static Topic& Of(const rd_kafka_message_t& message) {
    return *static_cast<Topic*>(rd_kafka_topic_opaque(message.rkt));
  }

  rd_kafka_topic_t* handle() const { return handle_.get(); }
  // 0: not known yet.
  int32_t partitions() const {
    return partitions_.load(std::memory_order_relaxed);
  }
  // PartitionStarts::kUnassigned: not known yet.
  int32_t PartitionOf(std::string_view key) const;

  PartitionStarts& starts() { return starts_; }
  bool all_started() const { return starts_.AllStarted(partitions()); }

 private:
  friend class TopicCache;
  struct Destroy {
    void operator()(rd_kafka_topic_t* topic) const {
      rd_kafka_topic_destroy(topic);
    }
  };

  // Called by librdkafka, on any thread: it alone knows how many there are.
  static int32_t Choose(const rd_kafka_topic_t* handle, const void* key,
                        size_t key_size, int32_t partitions, void* topic,
                        void* sequence);

  std::unique_ptr<rd_kafka_topic_t, Destroy> handle_;
  std::atomic<int32_t> partitions_ = 0;
  PartitionStarts starts_;
};

class TopicCache {
 public:
  static constexpr size_t kMostTopics = 5000;

  explicit TopicCache(rd_kafka_t* client) : client_(client) {}

  // Gives the handles back; nothing is asked for afterwards. Comes before the
  // end of the client, and that comes before the end of this object: the
  // client's threads may choose partitions until then.
  void Close();

  // Valid until Close. kInvalidArgument: the limit is reached, or
  // librdkafka refuses the name.
  absl::StatusOr<Topic*> Get(std::string_view name);

 private:
  // Lets a std::string_view look up a std::string.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  rd_kafka_t* client_;
  absl::flat_hash_map<std::string, std::unique_ptr<Topic>, Hash,
                      std::equal_to<>>
      topics_;
};

}  // namespace walpost
