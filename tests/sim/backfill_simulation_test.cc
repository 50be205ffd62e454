// Tests what is promised about the initial snapshot, with instances, sessions
// and brokers that fail at any point. See simulation_test.cc.
#include "sim/backfill_simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "sim/step_budget.h"

namespace walpost::sim {
namespace {

// Passing proves nothing if these never happened.
constexpr const char* kHappens[] = {
    "starts",
    "is killed",
    "is told to end",
    "ends",
    "makes the slot",
    "loses its session",
    "replaces its producer",
    "scans from a place on",
    "continues behind others",
    "leaves rows to the stream",
    "stops before a row",
    "row {} is too large",
    "an operator corrects row {}",
    "sees another slot",
    "a commit is fenced",
    "the outcome of a commit is not known",
};
constexpr uint64_t kSteps = 3'000;

TEST(BackfillSimulationTest, P1P3P5P8P10HoldWhateverFails) {
  const uint64_t budget = StepBudget() * 2 / 10;
  const uint64_t count = std::max<uint64_t>(budget / kSteps, 1);
  uint64_t steps = 0;
  Tally tally;
  for (const uint64_t seed : testing::RandomSeeds(count)) {
    BackfillSimulation simulation(seed);
    ASSERT_TRUE(simulation.Run(kSteps)) << simulation.Report();
    steps += simulation.steps();
    for (const auto& [what, times] : simulation.world().trace.tally()) {
      tally[what] += times;
    }
  }
  std::printf("%llu histories, %llu steps\n",
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(steps));
  if (steps < 500'000) return;
  for (const char* what : kHappens) EXPECT_GT(tally[what], 0u) << what;
}

}  // namespace
}  // namespace walpost::sim
