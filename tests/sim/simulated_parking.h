// SimulatedParking: what the app's ParkedEventService and IsolatedTopicResender
// do, a step at a time: stores parked events, and sends those that may go.
#pragma once

#include <array>
#include <optional>

#include "checkpoint/checkpoint_writer.h"
#include "delivery/wal_progress.h"
#include "parking/isolation_timer.h"
#include "parking/parked_keys.h"
#include "session/relay_session.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_parked_table.h"
#include "sim/simulated_stored_sender.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedParking {
 public:
  SimulatedParking(World& world, SimulatedParkedTable& table,
                   SimulatedBrokers& brokers, int relay, WalProgress& progress,
                   const CheckpointWriter& checkpoints);
  SimulatedParking(const SimulatedParking&) = delete;
  SimulatedParking& operator=(const SimulatedParking&) = delete;

  // A stream begins at `from`, and has ended.
  void Open(Lsn from);
  void End();
  bool holds_lanes() const { return parked_keys_.holds_any(); }
  void Step(RelaySession& session, RecordReports& reports);
  // Isolates the topic that holds up the flow.
  void Watch(MonotonicTime brokers_seen_at);

 private:
  // Sends what waits for a topic.
  struct Drain {
    const char* topic;
    SimulatedStoredSender release;
    bool is_moving = false;  // it has taken the last batch
  };

  void Store(RelaySession& session, RecordReports& reports);
  void Read();
  void DescribeTopics(ParkedReading& reading) const;
  void Apply();
  void Mark(const SimulatedParkedTable::Rows& rows,
            const StoredBatch::Result& result);
  void Release();
  void StepDrain(Drain& drain);
  void SendToTopic(Drain& drain);
  void StepLetters();
  void Abandon();
  void Lose(RelaySession& session);
  SimulatedParkedTable::Held held() const;

  World& world_;
  SimulatedParkedTable& table_;
  int relay_;
  WalProgress& progress_;
  Sender& sender_;
  const CheckpointWriter& checkpoints_;
  ParkedKeys parked_keys_;
  IsolationTimer isolation_;
  uint64_t session_ = 0;
  bool has_topics_ = false;  // as last read

  std::optional<ParkedReading> reading_;  // not applied yet
  SimulatedStoredSender release_;         // of keys
  SimulatedStoredSender retries_;         // of dead letters
  std::array<Drain, 2> drains_;
};

}  // namespace walpost::sim
