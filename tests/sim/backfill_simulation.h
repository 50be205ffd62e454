// BackfillSimulation: one history of an initial snapshot, from one seed: a
// table that is written to, brokers, and one or two instances that fail at any
// point.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "sim/backfill_brokers.h"
#include "sim/simulated_backfill.h"
#include "sim/simulated_table.h"
#include "sim/world.h"

namespace walpost::sim {

class BackfillSimulation {
 public:
  explicit BackfillSimulation(uint64_t seed);

  // Runs `steps` with troubles, then as many as needed to finish. False: a
  // promise was broken.
  bool Run(uint64_t steps);

  const std::optional<Finding>& finding() const { return brokers_.finding(); }
  uint64_t steps() const { return world_.step; }
  const World& world() const { return world_; }
  std::string Report() const;

 private:
  static constexpr size_t kInstances = 2;

  struct Kind {
    size_t instances = 1;
    bool has_transactions = false;
    bool has_bad_rows = false;
    bool pauses = false;
    bool drops_slot = false;
    ErrorActions on_error;
  };

  static Kind Draw(Random& random);
  void Step();
  void Break(size_t instance);
  void Operate();
  void Start(size_t instance);
  bool IsThrough() const;

  uint64_t seed_;
  World world_;
  Kind kind_;
  SimulatedTable table_;
  BackfillBrokers brokers_;
  std::array<std::optional<SimulatedBackfill>, kInstances> instances_;
  bool is_paused_ = false;
  bool is_calm_ = false;
};

}  // namespace walpost::sim
