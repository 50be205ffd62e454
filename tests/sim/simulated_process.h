// SimulatedProcess: one process of walpost, from its start to its end. The real
// objects in it are those of the app's Relay; what is simulated is beside them:
// the connection, the producer, and what the setup reads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_scope.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/continuity_state.h"
#include "checkpoint/pause_gate.h"
#include "delivery/wal_progress.h"
#include "session/gated_consumer.h"
#include "session/relay_session.h"
#include "session/wal_stream.h"
#include "sim/checked_taker.h"
#include "sim/checker.h"
#include "sim/simulated_parking.h"
#include "sim/simulated_producer.h"
#include "sim/simulated_reader.h"
#include "sim/simulated_server.h"
#include "sim/simulated_store.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedProcess {
 public:
  static constexpr milliseconds kShutdownTimeout{3000};

  SimulatedProcess(World& world, SimulatedServer& server,
                   SimulatedBrokers& brokers, Checker& checker, int relay,
                   CheckpointPlace& place, SimulatedParkedTable& parked);
  ~SimulatedProcess() { Close(); }
  SimulatedProcess(const SimulatedProcess&) = delete;
  SimulatedProcess& operator=(const SimulatedProcess&) = delete;

  // Takes a step of the current action. False: the process has ended.
  bool Turn();
  // The app's other coroutine: a few times a second. The brokers answered last
  // at `brokers_seen_at`.
  void Watch(MonotonicTime brokers_seen_at);
  // The producer or the store has reported.
  void OnReports();

  // Beside the rest: parked events are stored, or released.
  void StepParking(RecordReports& reports) {
    if (parking_) parking_->Step(session_, reports);
  }

  bool holds_lanes() const { return parking_ && parking_->holds_lanes(); }

  Sender& sender() { return sender_; }
  RelaySession& session() { return session_; }
  SimulatedProducer* producer() { return producer_.get(); }
  bool is_streaming() const { return stream_.is_open(); }
  // It will not continue without an operator.
  bool is_stuck() const;
  void Observe();

 private:
  void OnSaved();

  // The result of the current action, once it has ended.
  std::optional<absl::Status> CarryOut();
  void StartProducer();
  std::optional<absl::Status> CloseProducer();
  std::optional<absl::Status> LoadCheckpoint();
  std::optional<absl::Status> KeepGap();
  absl::Status Open();
  SimulatedCatalog::Tables tables() const;
  CheckpointScope owner() const;
  void RecordPassedOver();
  void LookAtPause();
  std::optional<absl::Status> TakeOver();
  absl::Status Continue();
  absl::Status Begin();
  std::optional<absl::Status> Fence();
  void Connect();
  void BeginStream();
  std::optional<absl::Status> StreamStep();
  void OnTurn();
  void Close();
  void NoteGap();
  void NoteClosed();
  TransactionBatcher* batcher() { return batcher_ ? &*batcher_ : nullptr; }

  World& world_;
  SimulatedServer& server_;
  SimulatedBrokers& brokers_;
  Checker& checker_;
  int relay_;

  SimulatedStore store_;
  bool has_orders_;  // in its configuration
  Sender sender_;
  WalProgress progress_{sender_};
  std::optional<TransactionOptions> transactions_;
  std::optional<TransactionBatcher> batcher_;
  PassedOverRows passed_over_;
  CheckpointWriter checkpoints_;
  std::optional<Checkpoint> loaded_;
  std::optional<Checkpoint> before_;  // as loaded before the take-over
  bool has_fenced_ = false;
  bool keeps_gap_ = false;    // a save is on its way
  bool may_keep_gap_ = true;  // not tried in this round
  ContinuityState continuity_;
  PauseGate pause_gate_;
  GatedConsumer gated_consumer_;
  CheckedTaker consumer_;
  WalStream stream_;
  SimulatedReader reader_;
  std::optional<SimulatedParking> parking_;
  RelaySession session_;
  RelaySession::Action action_;

  std::unique_ptr<SimulatedProducer> producer_;
  Lsn slot_;                  // its position when the stream began
  uint32_t lsn_history_ = 0;  // the WAL that the LSNs in progress_ belong to
  bool has_gap_ = false;
};

}  // namespace walpost::sim
