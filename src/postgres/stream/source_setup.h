// SourceSetup: prepares a replication connection before its first frame.
//
//   observe         -> IDENTIFY_SYSTEM, the slot, its birth record, what the
//                      publication covers
//   continue        -> is there a gap? (checkpoint/continuity_state.h) Then it
//                      is kept, and nothing is streamed until an operator acts
//   preflight       -> would anything be lost, or nothing ever arrive?
//   create          -> publication, then slot; before the first stream only
//   begin           -> the slot's position; its birth is recorded
//   START_REPLICATION at the slot's position: known events are skipped, and
//                      prove that the WAL is the same
//                      (delivery/wal_continuity_check.h)
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/finding.h"
#include "checkpoint/continuity_state.h"
#include "checkpoint/event_decision.h"
#include "checkpoint/pause_record.h"
#include "outbox/base_types.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/instance_name.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/new_tables.h"
#include "postgres/slot/slot_holder.h"

namespace walpost {

class SourceSetup {
 public:
  // All arguments outlive the object.
  SourceSetup(const WalSourceOptions& options, const OutboxOptions& outbox,
              const InstanceName& name, const std::vector<Route>& routes,
              ContinuityState& continuity)
      : options_(options),
        outbox_(outbox),
        name_(name),
        routes_(routes),
        continuity_(continuity),
        holder_(options.slot, name),
        new_tables_(options, outbox, routes, continuity) {}

  // Kafka cluster of the producer; empty: not known yet.
  void SetKafkaCluster(std::string cluster) {
    kafka_cluster_ = std::move(cluster);
  }

  NewTables& new_tables() { return new_tables_; }

  // Leaves the connection streaming. Errors: see WalSource::Open.
  boost::asio::awaitable<absl::Status> Run(Connection& connection);

  int server_version() const { return server_version_; }

  // True if the last Run has found other tables that match outbox.patterns.
  bool has_new_tables() const { return has_new_tables_; }

  // Findings of the last Run, if without an error.
  const Findings& findings() const { return findings_; }

  // User of the slot when Run last found it in use.
  const SlotHolder& holder() const { return holder_; }

  // Decisions about the slot's events that were on record at the last Run.
  const std::vector<EventDecision>& decisions() const { return decisions_; }

  // The pause that was on record at the last Run.
  const std::optional<PauseRecord>& pause() const { return pause_; }

  const BaseTypes& base_types() const { return base_types_; }

  // Position of the slot before the stream began.
  Lsn slot_position() const { return slot_position_; }

 private:
  boost::asio::awaitable<absl::Status> RunSteps();
  boost::asio::awaitable<absl::Status> Observe();
  boost::asio::awaitable<absl::Status> ReadSlot(ObservedSource observed);
  boost::asio::awaitable<absl::Status> StandBy();
  boost::asio::awaitable<absl::Status> LookForNewTables();
  boost::asio::awaitable<absl::Status> Continue();
  absl::Status CheckFromLsn();
  boost::asio::awaitable<absl::Status> RunPreflight();
  boost::asio::awaitable<absl::Status> CreateWhatIsMissing();
  boost::asio::awaitable<absl::Status> RequireOwner();
  boost::asio::awaitable<absl::Status> Begin();
  boost::asio::awaitable<absl::Status> RecordBirth();
  boost::asio::awaitable<absl::Status> UpdateRecord();
  boost::asio::awaitable<absl::Status> StartReplication();

  // After the first stream a missing slot is a gap, not a first start.
  bool may_create() const {
    return options_.create && continuity_.is_first_start();
  }

  const WalSourceOptions& options_;
  const OutboxOptions& outbox_;
  const InstanceName& name_;
  const std::vector<Route>& routes_;
  ContinuityState& continuity_;
  Connection* connection_ = nullptr;  // of the current Run

  bool slot_is_in_use_ = false;
  bool has_waited_ = false;  // for the slot, since the last stream
  bool has_new_tables_ = false;
  SlotHolder holder_;
  Findings findings_;
  Lsn from_lsn_;  // from --from-lsn, while it applies
  int server_version_ = 0;
  std::string kafka_cluster_;
  std::vector<EventDecision> decisions_;
  std::optional<PauseRecord> pause_;
  BaseTypes base_types_;
  Lsn slot_position_;
  Lsn begins_;  // start of the stream
  NewTables new_tables_;
};

}  // namespace walpost
