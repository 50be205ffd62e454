// CompactedTopic: checks, creates and reads a topic that keeps the last record
// of each key, in one partition.
//
// Blocks: for a helper thread, never for the loop. It has its own client, which
// belongs to no group and so needs no right on a group. Each call gives up at
// the deadline (kUnavailable) and, within about a second, when asked to stop
// (kCancelled).
//
// Required rights on the topic: READ; CREATE to create it; DESCRIBE_CONFIGS for
// Ensure, or it cannot tell whether the topic is compacted. Nor can it if the
// brokers do not know that request.
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
#include "checkpoint/topic_record.h"
#include "checkpoint/uncommitted_checkpoint_scan.h"
#include "kafka/client/admin_request.h"
#include "kafka/client/handles.h"
#include "kafka/client/producer_options.h"

namespace walpost {

// Which records are read.
enum class Isolation {
  kCommitted,    // only those of committed transactions
  kUncommitted,  // all
};

class CompactedTopic {
 public:
  // kFailedPrecondition: librdkafka rejects the properties.
  static absl::StatusOr<std::unique_ptr<CompactedTopic>> Connect(
      const ProducerOptions& options, std::string name, std::stop_token stop,
      MonotonicTime deadline, Isolation isolation = Isolation::kCommitted);

  // kFailedPrecondition: it has several partitions, or a right is missing; the
  // message has the command that fixes it.
  absl::StatusOr<bool> Exists();

  struct Presence {
    bool was_made = false;
    std::string warning;  // facts that could not be checked; may be empty
  };
  // Creates the topic if it is missing, with the brokers' number of replicas.
  // kFailedPrecondition: it is not compacted, has several partitions, or a
  // right is missing; the message has the command that fixes it.
  absl::StatusOr<Presence> Ensure();

  // Shows keys and values of all committed records in their order; nullopt:
  // without a value. They are valid until `show` returns. Waits for the end of
  // open transactions, unless `hidden`, which has no keys, says that the
  // records they hide are not ours. The right READ is tested even if there are
  // no records: a later start would lack it.
  using Show = std::function<void(std::string_view key,
                                  std::optional<std::string_view> value)>;
  absl::Status Read(const Show& show, const UncommittedCheckpointScan& hidden);

 private:
  CompactedTopic(KafkaClient client, ProducerOptions options, std::string name,
                 std::stop_token stop, MonotonicTime deadline);

  struct Step {
    std::string attempted;
    std::string_view right;  // required by the brokers
  };
  Step ReadingStep() const;
  // `may_end` is asked when an open transaction hides the records from `next`
  // on.
  using MayEnd = std::function<absl::StatusOr<bool>(int64_t next)>;
  absl::Status ReadRange(const LogRange& log, const Show& show,
                         const MayEnd& may_end);
  // True if Read may leave out this range, which is hidden.
  absl::StatusOr<bool> MayStop(const LogRange& range,
                               UncommittedCheckpointScan hidden);

  // Repeats a call that fails for a reason that may pass.
  absl::Status Repeat(
      const Step& step,
      const std::function<rd_kafka_resp_err_t(int timeout_millis)>& call);
  absl::Status Failed(rd_kafka_resp_err_t code, const Step& step) const;
  absl::Status Abandon(std::string_view attempted,
                       std::string_view cause) const;
  // An error of the client that will not pass: a rejected login.
  absl::Status ClientError();

  // The answer to an administrative request; it may be an error.
  absl::StatusOr<KafkaEvent> Answer(
      const Step& step, const std::function<void(AdminRequest&)>& ask);

  // 0: the topic does not exist.
  absl::StatusOr<int> CountPartitions();
  absl::Status Create();
  struct Policy {
    std::string name;  // empty: not known
    std::string_view why_unknown;
  };
  absl::StatusOr<Policy> CleanupPolicy();

  KafkaClient client_;
  KafkaTopic topic_;
  ProducerOptions options_;
  std::string name_;
  std::stop_token stop_;
  MonotonicTime deadline_;
  std::string last_client_error_;
};

// kFailedPrecondition: checkpoints in a topic with this cleanup.policy would
// get lost; has the command. An empty policy is not known.
absl::Status RequireCompaction(const std::string& topic,
                               const std::string& policy,
                               const std::string& brokers);

// Reads the value of a record of walpost in the checkpoint topic; empty: it
// does not exist. Makes the topic if
// it is missing. Waits for the end of a transaction that hides the record.
// Blocks for up to 30 s: for a helper thread.
//
// kUnavailable: try again. kCancelled: asked to stop. kFailedPrecondition: as
// CompactedTopic has it.
absl::StatusOr<std::string> ReadTopicRecord(const ProducerOptions& kafka,
                                            const TopicRecord& record,
                                            std::stop_token stop);

}  // namespace walpost
