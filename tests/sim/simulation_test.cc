// Tests the promises of docs/delivery.md with a server, brokers and instances
// that fail at any point.
//
// WALPOST_SIM_STEPS sets the number of steps of all tests together,
// WALPOST_SEED replays one history; the report of a failure names it.
#include "sim/simulation.h"

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
    "shuts down",
    "ends",
    "is suspended",
    "sees that it was suspended",
    "leaves the stream",
    "rewinds",
    "purges its producer",
    "has a fatal error of its producer",
    "event {} arrives late",
    "Postgres crashes",
    "the walsender is terminated",
    "wal_sender_timeout",
    "the network fails, or heals",
    "does not reach the brokers for {} ms",
    "the stream is damaged",
    "retention deletes rows",
};

class SimulationTest : public ::testing::Test {
 protected:
  // `tenths` of all steps.
  void RunHistories(uint64_t tenths, Trouble trouble) {
    const uint64_t steps = StepBudget() * tenths / 10;
    const uint64_t count = std::max<uint64_t>(steps / kStepsPerHistory, 1);
    const std::vector<uint64_t> seeds = testing::RandomSeeds(count);
    for (const uint64_t seed : seeds) {
      Simulation simulation(seed, trouble);
      const AbortReport on_abort(simulation);
      ASSERT_TRUE(simulation.Run(kStepsPerHistory)) << simulation.Report();
      steps_ += simulation.steps();
      for (const auto& [what, times] : simulation.world().trace.tally()) {
        tally_[what] += times;
      }
    }
    std::printf("%zu histories, %llu steps\n", seeds.size(),
                static_cast<unsigned long long>(steps_));
    // Whoever has transactions starts over without saying so.
    if (steps_ < 1'000'000 || trouble == Trouble::kTransactions) return;
    for (const char* what : kHappens) EXPECT_GT(tally_[what], 0u) << what;
  }

  uint64_t steps_ = 0;
  Tally tally_;
};

TEST_F(SimulationTest, P1P2P3P4P5P10HoldWhateverFails) {
  RunHistories(4, Trouble::kNone);
  if (steps_ < 1'000'000) return;
  // Seldom where events are parked.
  for (const char* what : {"the standby is promoted", "starts over"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P9ARestoredServerIsNoticed) {
  RunHistories(2, Trouble::kRestored);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"a snapshot of the server is restored",
        "sees that the server is behind", "sees that the WAL has forked"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P9RowsThatAreNotSentAreNoticed) {
  RunHistories(2, Trouble::kUncovered);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"sees that rows were not sent", "an operator ends a gap"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
  // Seldom: about once in a million steps.
  if (steps_ >= 20'000'000) {
    EXPECT_GT(tally_["retention has no proof"], 0u);
  }
}

TEST_F(SimulationTest, P8AnUndeliverableEventIsNeverPassed) {
  RunHistories(2, Trouble::kUndeliverable);
}

TEST_F(SimulationTest, P8ARefusedRecordIsNeverPassed) {
  RunHistories(2, Trouble::kRefused);
  if (steps_ >= 1'000'000) {
    EXPECT_GT(tally_["event {} is refused"], 0u);
  }
}

TEST_F(SimulationTest, P8ADeadLetterTakesItsEventsPlace) {
  RunHistories(2, Trouble::kDeadLetters);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"event {} is dead", "event {} is too large", "withdraws a record"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P3P8ParkedEventsKeepTheOrderOfTheirKey) {
  RunHistories(2, Trouble::kParking);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"{} events are parked", "sends parked event {}", "releases a key",
        "event {} is discarded", "event {} is to be retried",
        "loses its session with parked events"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P2P8ALetterInTheTableStaysOne) {
  RunHistories(2, Trouble::kLetters);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"{} events are parked", "sends parked event {}", "event {} fails again",
        "event {} is discarded", "event {} is to be retried",
        "loses its session with parked events"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P3P8AnIsolatedTopicKeepsTheOrderOfItsKeys) {
  RunHistories(3, Trouble::kIsolation);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"a topic is down", "isolates a topic", "releases a topic",
        "releases a key", "event {} of an isolated topic is dead"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P5ATransactionHasEachEventOnce) {
  RunHistories(3, Trouble::kTransactions);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"{} records are committed", "takes over", "is fenced",
        "aborts a predecessor's transaction", "a transaction times out",
        "the outcome of a commit is not known", "a commit is fenced",
        "sees another checkpoint than before"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P3BrokersThatTakeRecordsSinglyGetEachKeyInOrder) {
  RunHistories(3, Trouble::kSingly);
  if (steps_ < 1'000'000) return;
  for (const char* what : {"event {} is not taken", "event {} is refused",
                           "keeps a record behind another of its key"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P9RowsOfATableThatComesLaterAreNotPassedOverUnsaid) {
  RunHistories(2, Trouble::kLateTable);
  if (steps_ < 1'000'000) return;
  for (const char* what : {"sees that a table was passed over",
                           "an operator publishes what was passed over"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P1P3NothingIsSentNorLostWhilePaused) {
  RunHistories(2, Trouble::kPaused);
  if (steps_ < 1'000'000) return;
  for (const char* what : {"pauses", "may send", "an operator pauses the slot",
                           "an operator resumes the slot"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, P1P2P3P5P8P9AReplaySendsItsRangeAndNothingElse) {
  RunHistories(1, Trouble::kReplays);
  if (steps_ < 1'000'000) return;
  for (const char* what :
       {"starts a replay", "replays from {:X} to {:X}", "is complete",
        "is not complete", "is rejected", "is told to stop",
        "leaves the stream", "closes its producer",
        "the guard slot moves to {:X}", "the replay is killed",
        "the replay is suspended"}) {
    EXPECT_GT(tally_[what], 0u) << what;
  }
}

TEST_F(SimulationTest, OneSeedGivesOneHistory) {
  for (const uint64_t seed : testing::RandomSeeds(5)) {
    const Trouble trouble = seed % 2 == 0 ? Trouble::kNone : Trouble::kReplays;
    Simulation first(seed, trouble);
    Simulation second(seed, trouble);
    first.Run(2'000);
    second.Run(2'000);
    EXPECT_EQ(first.Report(), second.Report());
  }
}

}  // namespace
}  // namespace walpost::sim
