// TopicCache: topic name -> librdkafka's handle.
//
// Producing by name takes a client-wide lock and walks a list; a handle does
// not. Every topic costs each broker thread some time per round, so their
// number is limited: a template that makes a topic of an unbounded column is
// a mistake.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace walpost {

class TopicCache {
 public:
  static constexpr size_t kMostTopics = 5000;

  // `client` outlives this object.
  explicit TopicCache(rd_kafka_t* client) : client_(client) {}

  // Valid as long as this object. kInvalidArgument: the limit is reached, or
  // librdkafka refuses the name.
  absl::StatusOr<rd_kafka_topic_t*> Get(std::string_view name);

 private:
  struct Destroy {
    void operator()(rd_kafka_topic_t* topic) const {
      rd_kafka_topic_destroy(topic);
    }
  };
  // Lets a std::string_view look up a std::string.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  rd_kafka_t* client_;
  absl::flat_hash_map<std::string, std::unique_ptr<rd_kafka_topic_t, Destroy>,
                      Hash, std::equal_to<>>
      topics_;
};

}  // namespace walpost
