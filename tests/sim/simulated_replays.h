// SimulatedReplays: walpost replay beside the relays, again and again, and the
// operator who runs it: over any range, and on from where it has stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "checkpoint/event_decision.h"
#include "sim/replay_checker.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_parked_table.h"
#include "sim/simulated_postgres.h"
#include "sim/simulated_replay.h"
#include "sim/simulated_replay_window.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedReplays {
 public:
  struct Options {
    // Some events have an illegal topic, or are too large ...
    bool has_bad_events = false;
    // ... and the relays send dead letters of them to Kafka.
    bool has_letters = false;
    bool late_arrivals = true;
  };

  // `parked`: where the relays keep such events, if they do.
  SimulatedReplays(World& world, const SimulatedPostgres& server,
                   const SimulatedParkedTable& parked, const Options& options);

  const std::optional<Finding>& finding() const { return checker_.finding(); }

  // One part takes a step.
  void Step();
  // Something fails.
  void Break();
  // The server has crashed.
  void Disconnect() { window_.Disconnect(); }
  // From here on nothing breaks.
  void Calm();
  // A replay that has begun since is complete.
  bool IsThrough() const { return is_through_; }
  void OnHang() { checker_.OnHang(); }

 private:
  void Start();
  void StepBrokers();
  void Turn();
  void OnEnd();
  void Decide();
  ReplayChecker::Order DrawOrder();
  void DrawRange(ReplayChecker::Order& order);
  ErrorActions DrawActions();
  Lsn AnyLsn();
  SimulatedRecords ReadRecords() const;
  void AddLetters(SimulatedRecords& records) const;
  std::vector<EventDecision> Decisions() const;

  World& world_;
  const SimulatedPostgres& server_;
  const SimulatedParkedTable& parked_;
  Options options_;
  ReplayChecker checker_;
  SimulatedBrokers brokers_;
  SimulatedReplayWindow window_;
  SimulatedReplay::Place place_;

  int runs_ = 0;
  std::optional<SimulatedReplay> replay_;
  // What the operator runs next: again after a crash, or the rest.
  std::optional<ReplayChecker::Order> next_;
  std::set<uint64_t> skipped_;  // by the decision of an operator
  std::set<uint64_t> retried_;  // dead letters, likewise
  MonotonicTime brokers_back_at_{};
  bool is_calm_ = false;
  bool is_through_ = false;
};

}  // namespace walpost::sim
