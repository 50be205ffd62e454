// CheckpointTopic: the records of our slot in a compacted topic.
//
// Record key: `<slot>@<system identifier>`, and `<slot>` of older releases
// (CheckpointCandidates). Value: what DecodeCheckpoint reads. Walposts of any
// databases may share the topic. It is made by the first Load or Save when
// missing (but see Access), and again, with a warning, when somebody has
// deleted it.
//
// At most one record is on its way: the brokers get them in the order of Save,
// even where one took longer than its caller waited. Kafka does not compare,
// though: the record of an instance that was suspended may come after that of
// the one which took over. So kAborted never comes; Load takes the furthest
// record, not the last (CheckpointHistory). Compaction would keep the last, so
// ours is written again every minute: needs_repeating.
//
// Calls of librdkafka that block run on a helper thread, which owns nothing of
// ours and posts its result back.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "delivery/checkpoint_store.h"
#include "delivery/record_sink.h"
#include "kafka/compacted_topic.h"
#include "kafka/producer.h"
#include "kafka/producer_options.h"

namespace walpost {

class CheckpointTopic final : public CheckpointStore, private RecordReports {
 public:
  // With kRead nothing is made, and no right is needed but READ: for verbs that
  // only look.
  enum class Access { kRead, kReadAndWrite };
  CheckpointTopic(boost::asio::any_io_executor executor, ProducerOptions kafka,
                  std::string topic, std::string slot,
                  Access access = Access::kReadAndWrite);
  // Waits for the helper thread, which gives up within seconds. A callback
  // that has not come does not come any more.
  ~CheckpointTopic() override;

  bool is_shared_by_systems() const override { return true; }
  void SetSource(SourceIdentity identity) override {
    identity_ = std::move(identity);
  }
  // Answers within 30 s.
  void Load(Loaded done) override;
  // Answers within 10 s. What it says is unavailable may still get written.
  void Save(const Checkpoint& checkpoint, Saved done) override;
  // With a record before it that has no value, for each of our keys.
  void Replace(const Checkpoint& checkpoint, Saved done) override;
  bool needs_repeating() const override { return true; }

  std::string Name() const override;

 private:
  struct Found {
    CompactedTopic::Presence presence;
    absl::StatusOr<std::optional<Checkpoint>> checkpoint = std::nullopt;
    bool old_key_is_ours = false;
  };
  using Look = std::function<absl::StatusOr<Found>(CompactedTopic& topic)>;
  // On the helper thread.
  static absl::StatusOr<Found> LookAt(
      const absl::StatusOr<ProducerOptions>& kafka, const std::string& topic,
      std::stop_token stop, MonotonicTime deadline, const Look& look);
  void LookOnHelper(std::chrono::milliseconds limit, Look look,
                    std::function<void(absl::StatusOr<Found>)> then);

  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnSinkFailed(const absl::Status& error) override;

  void NotePresence(const CompactedTopic::Presence& presence);
  // Adds where it is and what mends it to an error.
  absl::StatusOr<std::optional<Checkpoint>> Explain(
      absl::StatusOr<std::optional<Checkpoint>> checkpoint) const;
  static absl::StatusOr<Found> LookForOurs(CompactedTopic& topic,
                                           const std::string& slot,
                                           const SourceIdentity& identity,
                                           Access access);
  void PrepareTopic();
  void ProduceWaiting();
  absl::Status StartProducer();
  void RetireProducer();
  void Finish(absl::Status status);

  boost::asio::any_io_executor executor_;
  ProducerOptions kafka_;
  std::string topic_;
  std::string slot_;
  Access access_;
  SourceIdentity identity_;
  boost::asio::steady_timer deadline_;
  std::unique_ptr<Producer> producer_;

  bool topic_is_ready_ = false;
  bool topic_was_ready_ = false;
  bool helper_is_busy_ = false;

  struct KeyAndValue {
    std::string key;
    std::optional<std::string> value;
  };
  Saved saved_;                        // of the Save under way
  std::deque<KeyAndValue> waiting_;    // its records that are not yet produced
  bool is_replace_ = false;            // so that our keys are to be looked for
  Sequence awaited_ = 0;               // its last record, once produced
  std::optional<Sequence> in_flight_;  // maybe that of a Save given up
  Sequence last_sequence_ = 0;

  // What was posted may run after our end: it looks here. Shared for that
  // alone.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::jthread helper_;
};

}  // namespace walpost
