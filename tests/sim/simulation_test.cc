// The promises of docs/delivery.md, held against a server, brokers and
// instances that fail at any point.
//
// WALPOST_SIM_STEPS sets how many steps all tests together take, WALPOST_SEED
// replays one history.
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/step_budget.h"

namespace walpost::sim {
namespace {

void RunSimulations(uint64_t share_of_ten, Trouble trouble) {
  const uint64_t steps = StepBudget() * share_of_ten / 10;
  const uint64_t count = std::max<uint64_t>(steps / kStepsPerHistory, 1);
  uint64_t taken = 0;
  Tally total;
  for (const uint64_t seed : testing::RandomSeeds(count)) {
    Simulation simulation(seed, trouble);
    const AbortReport on_abort(simulation);
    ASSERT_TRUE(simulation.Run(kStepsPerHistory)) << simulation.Report();
    taken += simulation.steps();
    for (const auto& [what, times] : simulation.world().trace.tally())
      total[what] += times;
  }
  for (const auto& [what, times] : total)
    std::printf("%8lu %s\n", times, std::string(what).c_str());
  std::printf("%lu steps, %lu histories\n", taken, count);
  ::testing::Test::RecordProperty("steps", std::to_string(taken));
}

TEST(SimulationTest, P1P2P3P4P5P10HoldWhateverFails) {
  RunSimulations(6, Trouble::kNone);
}

TEST(SimulationTest, P8AnUndeliverableEventIsNeverPassed) {
  RunSimulations(2, Trouble::kUndeliverable);
}

TEST(SimulationTest, P8ARefusedRecordIsNeverPassed) {
  RunSimulations(2, Trouble::kRefused);
}

}  // namespace
}  // namespace walpost::sim
