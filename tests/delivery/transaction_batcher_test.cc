#include "delivery/transaction_batcher.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using Flight = TransactionBatcher::Flight;
using std::chrono::milliseconds;
using std::chrono::seconds;

TransactionOptions Options() {
  TransactionOptions options;
  options.interval = milliseconds(100);
  options.idle = milliseconds(5);
  options.timeout = seconds(60);
  return options;
}

TransactionOptions Whole(TransactionOptions::Oversize oversize =
                             TransactionOptions::Oversize::kSplit) {
  TransactionOptions options = Options();
  options.boundary = TransactionOptions::Boundary::kSource;
  options.max_records = 10;
  options.oversize = oversize;
  return options;
}

MonotonicTime At(int millis) {
  return MonotonicTime(seconds(100)) + milliseconds(millis);
}

void Take(TransactionBatcher& gate, int events) {
  for (int i = 0; i < events; ++i) gate.OnEvent(1, 100);
}

void Commit(TransactionBatcher& gate) {
  ASSERT_TRUE(gate.Close(/*is_in_flight=*/false));
  gate.OnCommitted();
}

TEST(TransactionBatcherTest, AQuietStreamCommitsAtOnce) {
  TransactionBatcher gate(Options());
  Take(gate, 1);
  EXPECT_FALSE(gate.IsDue(Flight::kSome, At(0)));
  EXPECT_FALSE(gate.IsDue(Flight::kNone, At(4)));
  EXPECT_EQ(gate.due_at(), At(5));
  EXPECT_TRUE(gate.IsDue(Flight::kNone, At(5)));
}

TEST(TransactionBatcherTest, ASteadyStreamCommitsAtTheInterval) {
  TransactionBatcher gate(Options());
  for (int millis = 0; millis < 100; ++millis) {
    Take(gate, 1);
    EXPECT_FALSE(gate.IsDue(Flight::kNone, At(millis))) << millis;
  }
  Take(gate, 1);
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(100)));
}

TEST(TransactionBatcherTest, AStreamThatCatchesUpCommitsLessOften) {
  TransactionBatcher gate(Options());
  for (int millis = 0; millis < 2'000; ++millis) {
    Take(gate, 1);
    EXPECT_FALSE(gate.IsDue(Flight::kBusy, At(millis))) << millis;
  }
  EXPECT_TRUE(gate.IsDue(Flight::kBusy, At(2'000)));
}

TEST(TransactionBatcherTest, ABusyMomentIsOver) {
  TransactionBatcher gate(Options());
  Take(gate, 1);
  EXPECT_FALSE(gate.IsDue(Flight::kBusy, At(0)));
  Take(gate, 1);
  EXPECT_FALSE(gate.IsDue(Flight::kSome, At(99)));
  Take(gate, 1);
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(101)));
}

TEST(TransactionBatcherTest, NothingIsDueWithoutRecords) {
  TransactionBatcher gate(Options());
  gate.OnEvent(0, 0);  // known already
  EXPECT_FALSE(gate.IsDue(Flight::kNone, At(10'000)));
  EXPECT_EQ(gate.due_at(), MonotonicTime::max());
}

TEST(TransactionBatcherTest, P5TakesNothingUntilItIsCommitted) {
  TransactionBatcher gate(Options());
  Take(gate, 1);
  EXPECT_FALSE(gate.Close(/*is_in_flight=*/true));
  EXPECT_FALSE(gate.MayTake());
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(0)));
  EXPECT_TRUE(gate.Close(/*is_in_flight=*/false));
  EXPECT_FALSE(gate.MayTake());
  gate.OnCommitted();
  EXPECT_TRUE(gate.MayTake());
  EXPECT_FALSE(gate.has_records());
}

TEST(TransactionBatcherTest, AfterAFailureTransactionsAreSmallAndGrow) {
  TransactionBatcher gate(Options());
  gate.Begin();
  Take(gate, 50);
  EXPECT_TRUE(gate.MayTake());
  gate.Begin();  // they were not committed
  for (const int size : {1, 2, 4, 8}) {
    Take(gate, size - 1);
    EXPECT_TRUE(gate.MayTake()) << size;
    Take(gate, 1);
    EXPECT_FALSE(gate.MayTake()) << size;
    EXPECT_TRUE(gate.IsDue(Flight::kSome, At(0)));
    Commit(gate);
  }
}

TEST(TransactionBatcherTest, ATransactionIsGivenUpOnce) {
  TransactionBatcher gate(Options());
  gate.Begin();
  EXPECT_FALSE(gate.Abandon());
  gate.OnEvent(5, 100);
  EXPECT_TRUE(gate.Abandon());
  EXPECT_FALSE(gate.has_records());
  EXPECT_FALSE(gate.Abandon()) << "the next producer has failed, too";
  gate.Begin();
  gate.OnEvent(1, 20);
  EXPECT_FALSE(gate.MayTake()) << "small, after a failure";
}

TEST(TransactionBatcherTest, AfterAnOrderlyEndTransactionsAreNotSmall) {
  TransactionBatcher gate(Options());
  Take(gate, 50);
  Commit(gate);
  gate.Begin();
  Take(gate, 50);
  EXPECT_TRUE(gate.MayTake());
}

TEST(TransactionBatcherTest, ASourceTransactionIsWhole) {
  TransactionBatcher gate(Whole());
  Take(gate, 3);
  EXPECT_FALSE(gate.IsDue(Flight::kSome, At(0)));
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(100)));
  EXPECT_FALSE(gate.Close(/*is_in_flight=*/false));
  EXPECT_TRUE(gate.MayTake());
  EXPECT_TRUE(gate.is_inside());
  Take(gate, 1);
  gate.OnBoundary();
  EXPECT_FALSE(gate.MayTake());
  EXPECT_FALSE(gate.is_inside());
  EXPECT_TRUE(gate.Close(/*is_in_flight=*/false));
}

// Events that wait for an operator need no transaction, and are released only
// after the checkpoint has passed them.
TEST(TransactionBatcherTest,
     ASourceTransactionWithoutRecordsHoldsUpNoCheckpoint) {
  TransactionBatcher gate(Whole());
  gate.OnEvent(0, 0);
  EXPECT_TRUE(gate.Close(/*is_in_flight=*/false));
}

TEST(TransactionBatcherTest, ASourceTransactionBeyondALimitIsSplit) {
  TransactionBatcher gate(Whole());
  Take(gate, 10);
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(0)));
  EXPECT_FALSE(gate.MayTake());
  EXPECT_EQ(gate.splits(), 1u);
  EXPECT_FALSE(gate.is_stopped());
  EXPECT_TRUE(gate.Close(/*is_in_flight=*/false));
  // It is too large for the next one, too, and is one transaction of Postgres.
  gate.OnCommitted();
  Take(gate, 10);
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(1)));
  EXPECT_EQ(gate.splits(), 1u);
  gate.OnCommitted();
  gate.OnBoundary();
  Take(gate, 10);
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(2)));
  EXPECT_EQ(gate.splits(), 2u);
}

TEST(TransactionBatcherTest, ASourceTransactionIsSplitBeforeTheBrokersAbortIt) {
  TransactionBatcher gate(Whole());
  Take(gate, 2);
  EXPECT_FALSE(gate.IsDue(Flight::kSome, At(0)));
  EXPECT_TRUE(gate.IsDue(Flight::kSome, At(29'999)));
  EXPECT_TRUE(gate.MayTake());
  EXPECT_TRUE(gate.Close(true) || gate.IsDue(Flight::kSome, At(30'000)));
  EXPECT_FALSE(gate.MayTake());
  EXPECT_EQ(gate.splits(), 1u);
}

TEST(TransactionBatcherTest, ASourceTransactionBeyondALimitMayStopTheFlow) {
  TransactionBatcher gate(Whole(TransactionOptions::Oversize::kStop));
  Take(gate, 10);
  gate.IsDue(Flight::kSome, At(0));
  EXPECT_TRUE(gate.is_stopped());
  EXPECT_FALSE(gate.MayTake());
  EXPECT_FALSE(gate.Close(/*is_in_flight=*/false));
  gate.Begin();
  EXPECT_FALSE(gate.is_stopped());
}

}  // namespace
}  // namespace walpost
