// SimulatedPruner: retention, modelled on src/retention/pruner.cc: marks the
// committed rows, waits until the slot has confirmed them, and deletes the rows
// that the birth record proves.
#pragma once

#include <optional>

#include "outbox/options.h"
#include "sim/checker.h"
#include "sim/simulated_postgres.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedPruner {
 public:
  SimulatedPruner(World& world, SimulatedPostgres& postgres, Checker& checker);

  // Takes one look.
  void Step();
  // Its connection is lost.
  void Abandon() { mark_.reset(); }

 private:
  void Prune();

  World& world_;
  SimulatedPostgres& postgres_;
  Checker& checker_;
  OutboxOptions options_;
  std::optional<SimulatedPostgres::Mark> mark_;
};

}  // namespace walpost::sim
