// TopicCache: name -> topic of one producer.
//
// Producing by name takes a client-wide lock and walks a list; a handle does
// not. Every topic costs each broker thread some time per round, so their
// number is limited: a template that makes a topic of an unbounded column is
// a mistake.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kafka/topic.h"

namespace walpost {

class TopicCache {
 public:
  static constexpr size_t kMaxTopics = 5000;

  // Both outlive it.
  TopicCache(rd_kafka_t* client, OffsetWatch& offsets)
      : client_(client), offsets_(offsets) {}

  // Gives the handles back; nothing is asked for afterwards. Comes before the
  // end of the client, and that comes before the end of this object: the
  // client's threads may choose partitions until then.
  void Close();

  // Valid until Close. kInvalidArgument: the limit is reached, or
  // librdkafka refuses the name.
  absl::StatusOr<Topic*> Get(std::string_view name);

  // Those with acknowledged records.
  std::vector<std::string> Acknowledged() const;

 private:
  // Lets a std::string_view look up a std::string.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  rd_kafka_t* client_;
  OffsetWatch& offsets_;
  absl::flat_hash_map<std::string, std::unique_ptr<Topic>, Hash,
                      std::equal_to<>>
      topics_;
};

}  // namespace walpost
