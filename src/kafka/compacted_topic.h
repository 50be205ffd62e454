// CompactedTopic: looks at, makes and reads a topic that keeps the last record
// of each key, in one partition.
//
// Blocks: for a helper thread, never for the loop. It has a client of its own,
// which belongs to no group and so needs no right on one. Each call gives up at
// the deadline (kUnavailable) and, within about a second, when it is asked to
// stop (kCancelled).
//
// Rights that it needs on the topic: READ, to make it CREATE, and for Ensure
// DESCRIBE_CONFIGS, or it cannot tell whether the topic is compacted.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "kafka/handles.h"
#include "kafka/producer_options.h"

namespace walpost {

class CompactedTopic {
 public:
  // kFailedPrecondition: librdkafka does not take the properties.
  static absl::StatusOr<std::unique_ptr<CompactedTopic>> Connect(
      const ProducerOptions& options, std::string name, std::stop_token stop,
      MonotonicTime deadline);

  // kFailedPrecondition: it has several partitions, or a right is missing; the
  // message has the command that mends it.
  absl::StatusOr<bool> Exists();

  struct Presence {
    bool was_made = false;
    std::string warning;  // what could not be looked at; may be empty
  };
  // Makes it when it is missing, with the brokers' number of replicas.
  // kFailedPrecondition: it is not compacted, has several partitions, or a
  // right is missing; the message has the command that mends it.
  absl::StatusOr<Presence> Ensure();

  // Shows keys and values of all records in their order; nullopt: one without a
  // value. They live until `show` returns. The right READ is tested where there
  // is no record, too: a later start would lack it.
  using Show = std::function<void(std::string_view key,
                                  std::optional<std::string_view> value)>;
  absl::Status Read(const Show& show);

 private:
  CompactedTopic(KafkaClient client, std::string brokers, std::string name,
                 std::stop_token stop, MonotonicTime deadline);

  struct Step {
    std::string attempted;
    std::string_view right;  // that the brokers ask for
  };
  // Calls again and again what fails for a reason that may pass.
  absl::Status Repeat(
      const Step& step,
      const std::function<rd_kafka_resp_err_t(int timeout_millis)>& call);
  absl::Status Failed(rd_kafka_resp_err_t code, const Step& step) const;
  absl::Status GiveUp(std::string_view attempted, std::string_view cause) const;
  // An error of the client that will not pass: a refused login.
  absl::Status ClientError();

  using Ask = std::function<void(rd_kafka_queue_t* answers)>;
  absl::StatusOr<KafkaEvent> Answer(const Step& step, const Ask& ask);

  // 0: there is no such topic.
  absl::StatusOr<int> CountPartitions();
  absl::Status Create();
  // nullopt: may not be told.
  absl::StatusOr<std::optional<std::string>> CleanupPolicy();

  KafkaClient client_;
  KafkaTopic topic_;
  std::string brokers_;
  std::string name_;
  std::stop_token stop_;
  MonotonicTime deadline_;
  std::string last_client_error_;
};

}  // namespace walpost
