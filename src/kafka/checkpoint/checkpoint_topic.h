// CheckpointTopic: stores the checkpoint of our slot in a compacted topic.
//
// Record key: `<slot>@<system identifier>`, or `<slot>` in older releases
// (CheckpointCandidates). Value: see DecodeCheckpoint. Walposts of any
// databases may share the topic. The first Load or Save creates it if missing
// (but see Access). If somebody has deleted it, it is created again, with a
// warning.
//
// At most one record is on its way: the brokers get them in the order of Save,
// even if one took longer than its caller waited. But Kafka does not compare:
// the record of an instance that was suspended may come after that of the
// instance that took over. So kAborted never occurs; Load takes the furthest
// record, not the last (CheckpointHistory). Compaction would keep the last, so
// ours is written again every minute: needs_repeating.
//
// Blocking calls of librdkafka run on a helper thread, which owns no members
// and posts its result back.
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

#include "checkpoint/checkpoint_store.h"
#include "delivery/record_sink.h"
#include "kafka/checkpoint/compacted_topic.h"
#include "kafka/client/producer_options.h"
#include "kafka/producer/producer.h"

namespace walpost {

class CheckpointTopic final : public CheckpointStore, private RecordReports {
 public:
  CheckpointTopic(boost::asio::any_io_executor executor, ProducerOptions kafka,
                  std::string topic, std::string slot,
                  Access access = Access::kReadAndWrite);
  // Waits for the helper thread, which stops within seconds. Callbacks that
  // have not been called yet are never called.
  ~CheckpointTopic() override;

  bool is_shared_by_systems() const override { return true; }
  void SetSource(SourceIdentity identity) override {
    identity_ = std::move(identity);
  }
  // Answers within 30 s.
  void Load(Loaded done) override;
  // Answers within 10 s. After kUnavailable the record may still get written.
  void Save(const Checkpoint& checkpoint, Saved done) override;
  // Writes a record without a value first, for each of our keys.
  void Replace(const Checkpoint& checkpoint, Saved done) override;
  bool needs_repeating() const override { return true; }

  std::string Name() const override;
  // Writes a record without a value.
  std::string HowToRemove(const Checkpoint& checkpoint) const override;

 private:
  struct Found {
    CompactedTopic::Presence presence;
    absl::StatusOr<std::optional<Checkpoint>> checkpoint = std::nullopt;
    bool old_key_is_ours = false;
  };
  using Look = std::function<absl::StatusOr<Found>(CompactedTopic& topic)>;
  // Runs on the helper thread.
  static absl::StatusOr<Found> LookAt(
      const absl::StatusOr<ProducerOptions>& kafka, const std::string& topic,
      std::stop_token stop, MonotonicTime deadline, const Look& look);
  void LookOnHelper(std::chrono::milliseconds limit, Look look,
                    std::function<void(absl::StatusOr<Found>)> then);

  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnSinkFailed(const absl::Status& error) override;

  void NotePresence(const CompactedTopic::Presence& presence);
  // Adds the place and the remedy to an error.
  absl::StatusOr<std::optional<Checkpoint>> Explain(
      absl::StatusOr<std::optional<Checkpoint>> checkpoint) const;
  static absl::StatusOr<Found> LookForOurs(CompactedTopic& topic,
                                           const std::string& slot,
                                           const SourceIdentity& identity,
                                           Access access);
  std::string RemoveCommand(const std::string& system_identifier) const;
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
  Saved saved_;                        // callback of the pending Save
  std::deque<KeyAndValue> waiting_;    // its records to be produced
  bool is_replace_ = false;            // look for our keys first
  Sequence awaited_ = 0;               // its last record, once produced
  std::optional<Sequence> in_flight_;  // maybe from a Save that was given up
  Sequence last_sequence_ = 0;

  // Posted functions may run after the destructor: they check this. Shared only
  // for that.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::jthread helper_;
};

}  // namespace walpost
