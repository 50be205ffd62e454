// TopicReader: every record of some topics, from the beginning to where they
// end now. Kafka's consumer API, without a group; blocking.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/reloadable_text.h"
#include "judge/evidence.h"

namespace walpost {

class TopicReader {
 public:
  // `properties` are those of kafka.properties; what only a producer knows is
  // left out. kUnavailable: no broker answers.
  static absl::StatusOr<std::unique_ptr<TopicReader>> Connect(
      const std::string& brokers,
      const std::vector<std::pair<std::string, ReloadableText>>& properties);

  // The id of the cluster; empty: it has none.
  std::string ClusterId();

  // Of the cluster, those that are in `names` or begin with one of
  // `prefixes`. kFailedPrecondition: the user may not read one of `names`.
  absl::StatusOr<std::set<std::string>> FindTopics(
      const std::set<std::string>& names,
      const std::set<std::string>& prefixes);

  // `take` gets every record, partition by partition in order; its views live
  // during the call. `total` is known before the first: how many offsets lie
  // between beginning and end.
  absl::Status Read(const std::set<std::string>& topics,
                    const std::function<absl::Status(FoundRecord&)>& take);

  int64_t total() const { return total_; }

 private:
  struct DestroyClient {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  };
  using Partitions =
      std::unique_ptr<rd_kafka_topic_partition_list_t,
                      decltype(&rd_kafka_topic_partition_list_destroy)>;

  explicit TopicReader(rd_kafka_t* client) : client_(client) {}

  absl::Status CheckMissing(const std::string& topic);
  absl::StatusOr<Partitions> FindPartitions(
      const std::set<std::string>& topics);

  std::unique_ptr<rd_kafka_t, DestroyClient> client_;
  int64_t total_ = 0;
};

}  // namespace walpost
