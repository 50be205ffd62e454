// TopicCache: the topics of one producer, by name.
//
// Producing by name takes a client-wide lock and searches a list; a handle
// avoids both. Every topic costs each broker thread some time per round, and a
// client forgets none, so their number is limited: a template that makes topics
// from an unbounded column is a mistake. Near the limit the log has a warning.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/near_limit.h"
#include "kafka/producer/topic.h"

namespace walpost {

class TopicCache {
 public:
  struct Limit {
    size_t topics;                  // kafka.max_topics
    std::vector<std::string> free;  // these may be more
  };

  // `client` and `offsets` outlive it.
  TopicCache(rd_kafka_t* client, OffsetRegressionDetector& offsets, Limit limit)
      : client_(client), offsets_(offsets), limit_(std::move(limit)) {}

  // Releases the handles; Get must not be called afterwards. Call it before the
  // client is destroyed. This object must outlive the client, whose threads may
  // choose partitions until then.
  void Close();

  bool Has(std::string_view name) const { return topics_.contains(name); }
  size_t size() const { return topics_.size(); }
  size_t limit() const { return limit_.topics; }
  // Sum over these topics, as far as their partitions are known.
  size_t CountPartitions() const;
  // The first topic, by name, that records wait for (Topic::IsUnknown), or
  // empty.
  std::string_view Unknown() const;
  // Valid until Close. kInvalidArgument: the limit is reached
  // (too_many_topics), or librdkafka rejects the name.
  absl::StatusOr<Topic*> Get(std::string_view name);

  // A topic that a record was for; empty: there was none.
  std::string AnyTopic() const {
    return topics_.empty() ? "" : topics_.begin()->first;
  }

  // Topics with acknowledged records, also of other clients.
  std::vector<std::string_view> Acknowledged() const {
    return offsets_.Acknowledged();
  }
  // Acknowledged records of these topics, also of other clients.
  NamedCounts Counts() const { return offsets_.Counts(); }

 private:
  // Lets a std::string_view look up a std::string.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  absl::Status MayAdd(std::string_view name) const;

  rd_kafka_t* client_;
  OffsetRegressionDetector& offsets_;
  Limit limit_;
  NearLimit near_limit_;
  absl::flat_hash_map<std::string, std::unique_ptr<Topic>, Hash,
                      std::equal_to<>>
      topics_;
};

}  // namespace walpost
