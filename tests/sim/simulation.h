// Simulation: one history of a database, brokers and up to two relays, from one
// seed.
//
//   Simulation simulation(seed, trouble);
//   if (!simulation.Run(10'000)) std::puts(simulation.Report().c_str());
//
// Each step lets one part do one thing. First everything may break, at any
// step; then nothing breaks any more, and the history must come to an end.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "sim/checker.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_parked_table.h"
#include "sim/simulated_postgres.h"
#include "sim/simulated_pruner.h"
#include "sim/simulated_relay.h"
#include "sim/simulated_replays.h"
#include "sim/simulated_server.h"
#include "sim/world.h"

namespace walpost::sim {

enum class Trouble {
  kNone,
  kUndeliverable,  // one event cannot be mapped
  kRefused,        // the brokers reject one record
  kRestored,       // the server restores a snapshot, again and again
  kUncovered,      // the publication does not send rows, again and again
  kDeadLetters,    // some events have dead letters
  kParking,        // some events are parked
  kLetters,        // some events have dead letters in a table
  kIsolation,      // likewise, and a topic is down, again and again
  kTransactions,   // the brokers' transactions; any other kind may have them
  kLateTable,      // some configurations have a table that others have not
  kPaused,         // an operator pauses and resumes, again and again
  kSingly,         // brokers that take, and reject, records one by one
  kReplays,        // walpost replay beside it, and some of the other kinds
};

class Simulation {
 public:
  Simulation(uint64_t seed, Trouble trouble);

  // Runs `steps` with troubles, then as many as needed to finish. False: a
  // promise was broken.
  bool Run(uint64_t steps);

  const std::optional<Finding>& finding() const {
    const bool is_of_replay = replays_ && !checker_.finding();
    return is_of_replay ? replays_->finding() : checker_.finding();
  }
  uint64_t steps() const { return world_.step; }
  const World& world() const { return world_; }
  // The finding, the kind of history, how to repeat it, and the trace.
  std::string Report() const;

 private:
  // The kind of history.
  struct Kind {
    int relays = 1;
    bool late_arrivals = false;
    bool promotions = false;
    bool restores = false;
    bool flaps = false;
    bool awaits_standby = true;
    bool slot_may_go_back = false;
    bool has_store = false;  // of checkpoints
    bool has_transactions = false;
    bool takes_singly = false;
    bool has_replays = false;
    Trouble trouble = Trouble::kNone;
    uint64_t bad_event = UINT64_MAX;
  };

  static Kind Draw(Random& random, Trouble trouble);
  static Checker::Options CheckerOptions(const Kind& kind);

  void Step();
  void StepRelay(SimulatedRelay& relay);
  void StepServer();
  uint64_t most_backlog() const;
  void StepDatabase();
  void Break(SimulatedRelay& relay);
  void SaveOrRestore();
  void TurnTopic();
  void TurnPause();
  void CutOff();
  void Flap();
  void EndGap();
  void SettleOrders();
  void BeginReplays();
  void StartWhatIsDown(SimulatedRelay& relay);
  void Calm();
  bool IsThrough();
  void OnHang();
  SimulatedRelay& AnyRelay();

  uint64_t seed_;
  World world_;
  Kind kind_;
  SimulatedPostgres postgres_;
  Checker checker_;
  SimulatedServer server_;
  CheckpointPlace place_;
  SimulatedBrokers brokers_;
  SimulatedPruner pruner_;
  SimulatedParkedTable parked_;
  std::array<std::optional<SimulatedRelay>, kMaxRelays> relays_;
  std::optional<SimulatedReplays> replays_;
  bool is_calm_ = false;
};

}  // namespace walpost::sim
