// TopicCache: the topics of one producer, by name.
//
// Producing by name takes a client-wide lock and searches a list; a handle
// avoids both. Every topic costs each broker thread some time per round, so
// their number is limited: a template that makes topics from an unbounded
// column is a mistake.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kafka/producer/topic.h"

namespace walpost {

class TopicCache {
 public:
  static constexpr size_t kMaxTopics = 5000;

  // Both arguments outlive it.
  TopicCache(rd_kafka_t* client, OffsetRegressionDetector& offsets)
      : client_(client), offsets_(offsets) {}

  // Releases the handles; Get must not be called afterwards. Call it before the
  // client is destroyed. This object must outlive the client, whose threads may
  // choose partitions until then.
  void Close();

  bool Has(std::string_view name) const { return topics_.contains(name); }
  // Valid until Close. kInvalidArgument: the limit is reached, or librdkafka
  // rejects the name.
  absl::StatusOr<Topic*> Get(std::string_view name);

  // A topic that a record was for; empty: there was none.
  std::string AnyTopic() const {
    return topics_.empty() ? "" : topics_.begin()->first;
  }

  // Topics with acknowledged records, also of other clients.
  std::vector<std::string> Acknowledged() const {
    return offsets_.Acknowledged();
  }

 private:
  // Lets a std::string_view look up a std::string.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  rd_kafka_t* client_;
  OffsetRegressionDetector& offsets_;
  absl::flat_hash_map<std::string, std::unique_ptr<Topic>, Hash,
                      std::equal_to<>>
      topics_;
};

}  // namespace walpost
