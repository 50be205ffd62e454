// SourceSetup: what happens on a replication connection before its first
// frame, and what is known of the server from one connection to the next.
//
//   observe         -> IDENTIFY_SYSTEM, the slot, its birth record, what the
//                      publication covers
//   continue        -> is there a gap? (delivery/continuity.h) Then it is kept,
//                      and nothing is streamed until an operator acts
//                      (delivery/gap_latch.h)
//   preflight       -> would anything be lost, or nothing ever arrive?
//   create          -> publication, then slot; before the first stream only
//   begin           -> where the slot stands; its birth is put on record
//   START_REPLICATION where the slot stands: what is known is passed over, and
//                      proves that the WAL is the same
//                      (delivery/history_check.h)
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/finding.h"
#include "delivery/checkpoint.h"
#include "delivery/continuity.h"
#include "delivery/gap_latch.h"
#include "delivery/pipeline.h"
#include "outbox/options.h"
#include "postgres/birth_record.h"
#include "postgres/connection.h"
#include "postgres/instance_name.h"
#include "postgres/slot_holder.h"
#include "postgres/source_options.h"

namespace walpost {

class SourceSetup {
 public:
  // All arguments outlive the object.
  SourceSetup(const WalSourceOptions& options, const OutboxOptions& outbox,
              const InstanceName& name, Pipeline& pipeline)
      : options_(options),
        outbox_(outbox),
        name_(name),
        pipeline_(pipeline),
        holder_(options.slot, name) {}

  // What the store has, before each Run; nullopt: nothing, or no store.
  void SetCheckpoint(std::optional<Checkpoint> checkpoint) {
    checkpoint_ = std::move(checkpoint);
  }

  // The Kafka that the producer is connected to; empty: not known yet.
  void SetKafkaCluster(std::string cluster) {
    kafka_cluster_ = std::move(cluster);
  }

  // A gap that was found while streaming: from the next Run on, nothing is
  // streamed until an operator acts.
  void Latch(const Gap& gap) { latch_.Close(gap); }
  const std::optional<Gap>& gap() const { return latch_.gap(); }

  // Leaves the connection streaming. Errors are those of WalSource::Open.
  boost::asio::awaitable<absl::Status> Run(Connection& connection);

  // Whether Run has found that all LSNs from before are void: the server was
  // promoted, or an operator has ended a gap. Asked once.
  bool TakeStartOver() { return std::exchange(must_start_over_, false); }

  // What it found on the way, without an error; of the last Run.
  const std::vector<Finding>& findings() const { return findings_; }

  // Who had the slot when Run last found it in use.
  const SlotHolder& holder() const { return holder_; }

  // Where the slot stood before the stream began.
  Lsn slot_position() const { return slot_position_; }

  // What the publication covers, as of the last Run.
  const std::string& coverage() const { return coverage_; }
  // The Kafka cluster that has the events so far; empty: not on record.
  const std::string& known_kafka_cluster() const {
    return known_kafka_cluster_;
  }

  // Of the server, since the first Run.
  const std::string& system_identifier() const { return system_identifier_; }
  uint32_t timeline() const { return timeline_; }
  int server_version() const { return server_version_; }
  // Consistent point of the slot, or where it stood when first seen.
  Lsn birth() const { return birth_; }

 private:
  boost::asio::awaitable<absl::Status> RunSteps();
  boost::asio::awaitable<absl::Status> Observe();
  boost::asio::awaitable<absl::Status> ReadSlot();
  boost::asio::awaitable<absl::Status> StandBy();
  boost::asio::awaitable<absl::Status> Begin();
  KnownSource Known() const;
  void AddEvidence(KnownSource& known) const;
  bool GapIsOver();
  boost::asio::awaitable<absl::Status> Continue();
  BirthRecord WhatIsKnown() const;
  boost::asio::awaitable<absl::Status> Hold(Gap gap);
  absl::Status GoOn(const KnownSource& known, const Continuity& continuity);
  bool IsOvertakenByPromotion() const;
  absl::Status FollowPromotion();
  void ResumeAtCheckpoint();
  absl::Status CheckFromLsn();
  boost::asio::awaitable<absl::Status> RecordBirth();
  boost::asio::awaitable<absl::Status> UpdateRecord();
  boost::asio::awaitable<absl::Status> RequireOwner();
  boost::asio::awaitable<absl::Status> CreateWhatIsMissing();
  boost::asio::awaitable<absl::Status> RunPreflight();
  boost::asio::awaitable<absl::Status> StartReplication();

  // Later than the first stream a missing slot is a gap, not a first start.
  bool may_create() const { return options_.create && is_first_start_; }

  const WalSourceOptions& options_;
  const OutboxOptions& outbox_;
  const InstanceName& name_;
  Pipeline& pipeline_;
  Connection* connection_ = nullptr;  // of the current Run

  std::optional<Checkpoint> checkpoint_;
  std::optional<BirthRecord> birth_record_;
  GapLatch latch_;
  ObservedSource observed_;
  bool slot_is_in_use_ = false;
  SlotHolder holder_;
  std::vector<Finding> findings_;
  Lsn suspected_after_;  // a checkpoint that the slot was ahead of
  Lsn from_lsn_;         // of --from-lsn, while it applies
  bool is_first_start_ = false;

  std::string system_identifier_;
  uint32_t timeline_ = 0;
  Lsn birth_;
  int server_version_ = 0;
  Lsn slot_position_;
  Lsn begins_;  // where the stream does
  std::string coverage_;
  std::string kafka_cluster_;
  std::string known_kafka_cluster_;
  bool slot_was_shared_ = false;
  bool has_streamed_ = false;
  bool must_start_over_ = false;
};

}  // namespace walpost
