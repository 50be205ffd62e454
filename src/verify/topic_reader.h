// TopicReader: the records that Kafka has. Kafka's consumer API, without a
// group; blocking.
//
// Records of aborted transactions are left out. While a transaction is open, it
// waits for its end (UnreadPartitions).
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/reloadable_text.h"
#include "verify/published_records.h"
#include "verify/topic_limits.h"
#include "verify/unread_partitions.h"

namespace walpost {

// Access to the brokers.
struct TopicReaderOptions {
  std::string brokers;
  // From kafka.properties; properties only for producers are left out.
  std::vector<std::pair<std::string, ReloadableText>> properties;
  // Why a request failed, for a client whose main queue nobody serves: verify
  // has no code of kafka/ for it.
  std::function<std::string(rd_kafka_t*, rd_kafka_resp_err_t)> explain;
  // Creates a client that logs in; takes the configuration, which it owns in
  // any case. As `explain`.
  std::function<absl::StatusOr<rd_kafka_t*>(rd_kafka_conf_t*)> create = {};
  enum class Isolation {
    kCommitted,
    // True: also reads records of open and aborted transactions, which proves
    // nothing about rows.
    kUncommitted,
  };
  Isolation isolation = Isolation::kCommitted;
  // The settings of a topic; empty: they cannot be seen. As `explain`.
  std::function<TopicConfig(rd_kafka_t*, const std::string& topic)> describe =
      {};
  // The same of a broker.
  std::function<TopicConfig(rd_kafka_t*, const std::string& broker)>
      describe_broker = {};
  // A transaction that stays open for longer is an error.
  std::chrono::milliseconds transaction_limit{75'000};
};

class TopicReader final : public PublishedRecords {
 public:
  static absl::StatusOr<std::unique_ptr<TopicReader>> Connect(
      const TopicReaderOptions& options);

  // The id of the cluster; empty: none. kUnavailable: no broker answers.
  absl::StatusOr<std::string> ClusterId();

  std::string_view name() const override { return "Kafka"; }
  absl::StatusOr<std::set<std::string>> FindTopics(
      const std::set<std::string>& names,
      const std::set<std::string>& prefixes) override;
  absl::StatusOr<bool> MayHide(const std::set<std::string>& prefixes) override;
  absl::Status Read(
      const std::set<std::string>& topics,
      const std::function<absl::Status(FoundRecord&)>& take) override;
  // The same, with all that a record has.
  using TakeMessage = std::function<absl::Status(const rd_kafka_message_t&)>;
  absl::Status ReadMessages(const std::set<std::string>& topics,
                            const TakeMessage& take);

  // From now on TakeNew gets what is appended to the topics that begin with one
  // of `prefixes`. Call it again for topics and partitions that are made
  // meanwhile: they are read from their beginning.
  absl::Status Follow(const std::set<std::string>& prefixes);
  // `take` gets the records that have come, if there are any; some of them, if
  // there are many.
  absl::Status TakeNew(const TakeMessage& take);
  // Where a key belongs in a topic that is followed; nullopt: it is not.
  std::optional<int32_t> PartitionOf(const std::string& topic,
                                     std::string_view key) const;

  // The number of offsets between beginning and end.
  int64_t total() const override { return total_; }
  absl::StatusOr<DeletedRecords> AddDeletedRecords(
      const std::set<std::string>& topics, AuditDatabase& audit) override;

  // The partitions of those topics that exist, and where they begin now.
  absl::StatusOr<std::vector<PartitionStart>> FindStarts(
      const std::set<std::string>& topics);
  // The settings of a topic, as the brokers describe them; empty: not known.
  TopicConfig Describe(const std::string& topic);
  // The settings of one of the brokers; empty: not known.
  TopicConfig DescribeBroker();

 private:
  struct DestroyClient {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  };
  using Metadata = std::unique_ptr<const rd_kafka_metadata_t,
                                   decltype(&rd_kafka_metadata_destroy)>;
  using Partitions =
      std::unique_ptr<rd_kafka_topic_partition_list_t,
                      decltype(&rd_kafka_topic_partition_list_destroy)>;

  TopicReader(rd_kafka_t* client, TopicReaderOptions options)
      : client_(client), options_(std::move(options)) {}

  absl::Status Failed(std::string_view attempted, rd_kafka_resp_err_t code);
  absl::StatusOr<Metadata> FetchMetadata();
  absl::StatusOr<rd_kafka_resp_err_t> ErrorOf(const std::string& topic);
  absl::Status CheckMissing(const std::string& topic);
  absl::Status CannotRead(std::string_view topic,
                          rd_kafka_resp_err_t code) const;
  absl::Status ReadFailure(const rd_kafka_message_t& message);
  static Partitions EmptyList();
  absl::StatusOr<Partitions> ListPartitions(
      const std::set<std::string>& topics);
  // Fills in unread_.
  absl::StatusOr<Partitions> FindPartitions(
      const std::set<std::string>& topics);
  using Offsets = std::map<std::pair<std::string, int32_t>, int64_t>;
  absl::StatusOr<Offsets> ListOffsets(
      const rd_kafka_topic_partition_list_t& partitions,
      rd_kafka_OffsetSpec_t which);
  absl::Status CheckSilence(std::chrono::milliseconds silence) const;

  std::unique_ptr<rd_kafka_t, DestroyClient> client_;
  TopicReaderOptions options_;
  UnreadPartitions unread_;
  int64_t total_ = 0;
  std::map<std::string, int32_t> followed_;  // topics, and their partitions
  bool is_following_ = false;
};

}  // namespace walpost
