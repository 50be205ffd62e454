#include "checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/memory_sink.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::MemorySink;

constexpr milliseconds kInterval{1'000};

// Keeps what it is given; answers when the test says so.
class FakeStore final : public CheckpointStore {
 public:
  void Load(Loaded done) override { done(std::nullopt); }
  void Save(const Checkpoint& checkpoint, Saved done) override {
    tried.push_back(checkpoint);
    done_ = std::move(done);
  }
  bool needs_repeating() const override { return repeats; }
  std::string Name() const override { return "fake"; }

  void Answer(const absl::Status& status = absl::OkStatus()) {
    std::exchange(done_, nullptr)(status);
  }

  std::vector<Checkpoint> tried;
  bool repeats = false;

 private:
  Saved done_;
};

class CheckpointWriterTest : public ::testing::Test {
 protected:
  CheckpointWriterTest() {
    sender_.SetSink(&sink_);
    Checkpoint begin;
    begin.system_identifier = "7";
    begin.slot = "orders";
    begin.confirmed = Lsn(1);
    progress_.BeginStream(Lsn(1));
    writer_.Begin(begin);
  }

  static std::unique_ptr<RecordBuilder> MakeBuilder() {
    OutboxOptions options;
    options.tables.resize(1);
    return RecordBuilder::Create(options).value();
  }

  // One event, acknowledged, in a transaction that is confirmed then.
  void Deliver(uint64_t commit_lsn) {
    OfferOne({Lsn(commit_lsn), 1});
    progress_.OnTransactionEnd(Lsn(commit_lsn + 8));
    sender_.OnAcknowledged(sequence_++, WallTime());
  }

  void OfferOne(Position position) {
    const std::vector<Value> references = {Value("order")};
    Event event;
    event.position = position;
    event.payload = "x";
    event.references = references;
    ASSERT_EQ(progress_.OnEvent(event, absl::OkStatus()),
              Sender::Offer::kAccepted);
  }

  void SaveIfDue(milliseconds at, bool hurry = false) {
    writer_.SaveIfDue(MonotonicTime(seconds(100)) + at, WallTime(at), hurry);
  }

  MemorySink sink_;
  FakeStore store_;
  Sender sender_{MakeBuilder(), AcknowledgementWindow::Options{}};
  WalProgress progress_{sender_};
  int saved_ = 0;
  CheckpointWriter writer_{&store_, kInterval, progress_, [this] { ++saved_; }};
  Sequence sequence_ = 0;
};

TEST_F(CheckpointWriterTest, P2NothingIsConfirmableBeforeItIsStored) {
  Deliver(0x10);
  EXPECT_EQ(progress_.confirmed(), Lsn(0x18));
  EXPECT_EQ(writer_.confirmable(), Lsn(1));
  SaveIfDue(milliseconds(0));
  EXPECT_EQ(writer_.confirmable(), Lsn(1));
  store_.Answer();
  EXPECT_EQ(writer_.confirmable(), Lsn(0x18));
  EXPECT_EQ(saved_, 1);
  ASSERT_EQ(store_.tried.size(), 1);
  EXPECT_EQ(store_.tried[0].slot, "orders");
  EXPECT_EQ(store_.tried[0].confirmed, Lsn(0x18));
  EXPECT_EQ(store_.tried[0].position, (Position{Lsn(0x10), 1}));
}

TEST_F(CheckpointWriterTest, WithoutAStoreConfirmsAtOnce) {
  CheckpointWriter none(nullptr, kInterval, progress_, [] {});
  Deliver(0x10);
  EXPECT_EQ(none.confirmable(), Lsn(0x18));
}

TEST_F(CheckpointWriterTest, P5StoresTheMiddleOfATransaction) {
  OfferOne({Lsn(0x10), 1});
  OfferOne({Lsn(0x10), 2});
  sender_.OnAcknowledged(0, WallTime());
  SaveIfDue(milliseconds(0));
  store_.Answer();
  EXPECT_EQ(store_.tried[0].position, (Position{Lsn(0x10), 1}));
  EXPECT_EQ(writer_.confirmable(), Lsn(1));
}

// It had no event, so nothing proves that the server still has the WAL of then.
TEST_F(CheckpointWriterTest, P2TheConfirmedLsnOfAnEarlierCheckpointIsNotKept) {
  Checkpoint unproven;
  unproven.confirmed = Lsn(0x100);
  writer_.Begin(unproven);
  OfferOne({Lsn(0x10), 1});
  OfferOne({Lsn(0x10), 2});
  sender_.OnAcknowledged(0, WallTime());
  SaveIfDue(milliseconds(0));
  ASSERT_EQ(store_.tried.size(), 1);
  EXPECT_EQ(store_.tried[0].position, (Position{Lsn(0x10), 1}));
  EXPECT_EQ(store_.tried[0].confirmed, Lsn(1));
}

class CheckpointWriterInTransactionsTest : public CheckpointWriterTest {
 protected:
  CheckpointWriterInTransactionsTest() { in_transactions_.Begin(Checkpoint()); }

  void Take(Position position) {
    OfferOne(position);
    batcher_.OnEvent(1, 1);
  }
  void PokeAt(int millis, bool hurry = false) {
    in_transactions_.SaveIfDue(
        MonotonicTime(seconds(100)) + milliseconds(millis), WallTime(), hurry);
  }

  static TransactionOptions Options() {
    TransactionOptions options;
    options.interval = milliseconds(100);
    options.idle = milliseconds(5);
    return options;
  }

  TransactionBatcher batcher_{Options()};
  CheckpointWriter in_transactions_{&store_, kInterval, progress_, [] {},
                                    &batcher_};
};

TEST_F(CheckpointWriterInTransactionsTest, P5CommitsNothingThatIsInFlight) {
  Take({Lsn(0x10), 1});
  Take({Lsn(0x10), 2});
  PokeAt(0);
  sender_.OnAcknowledged(0, WallTime());
  PokeAt(100);
  EXPECT_FALSE(batcher_.MayTake());
  EXPECT_TRUE(store_.tried.empty());
  sender_.OnAcknowledged(1, WallTime());
  PokeAt(101);
  ASSERT_EQ(store_.tried.size(), 1);
  EXPECT_EQ(store_.tried[0].position, (Position{Lsn(0x10), 2}));
  EXPECT_FALSE(batcher_.MayTake());
  store_.Answer();
  EXPECT_TRUE(batcher_.MayTake());
}

TEST_F(CheckpointWriterInTransactionsTest,
       WhoeverIsInAHurryWaitsForNoInterval) {
  Take({Lsn(0x10), 1});
  sender_.OnAcknowledged(0, WallTime());
  PokeAt(0, /*hurry=*/true);
  EXPECT_EQ(store_.tried.size(), 1);
}

TEST_F(CheckpointWriterInTransactionsTest, P2AnyFailureEndsTheStream) {
  Take({Lsn(0x10), 1});
  progress_.OnTransactionEnd(Lsn(0x18));
  sender_.OnAcknowledged(0, WallTime());
  PokeAt(0, /*hurry=*/true);
  store_.Answer(absl::UnavailableError("no answer"));
  EXPECT_TRUE(in_transactions_.must_end());
  EXPECT_FALSE(batcher_.MayTake());
  EXPECT_EQ(in_transactions_.confirmable(), Lsn());
}

TEST_F(CheckpointWriterInTransactionsTest, SettledIsOnlyWhatIsCommitted) {
  Take({Lsn(0x10), 1});
  sender_.OnAcknowledged(0, WallTime());
  EXPECT_EQ(progress_.settled_through(), (Position{Lsn(0x10), 1}));
  EXPECT_EQ(in_transactions_.settled_through(), (Position{Lsn(1), 0}));
  PokeAt(0, /*hurry=*/true);
  store_.Answer();
  EXPECT_EQ(in_transactions_.settled_through(), (Position{Lsn(0x10), 1}));
}

TEST_F(CheckpointWriterInTransactionsTest, ATransactionTooLargeEndsTheStream) {
  TransactionOptions options = Options();
  options.boundary = TransactionOptions::Boundary::kSource;
  options.oversize = TransactionOptions::Oversize::kStop;
  options.max_records = 1;
  batcher_ = TransactionBatcher(options);
  Take({Lsn(0x10), 1});
  PokeAt(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(in_transactions_.status()));
  EXPECT_TRUE(in_transactions_.must_end());
  EXPECT_TRUE(store_.tried.empty());
}

TEST_F(CheckpointWriterTest, OneAtATimeAndNotTooOften) {
  Deliver(0x10);
  SaveIfDue(milliseconds(0));
  Deliver(0x20);
  SaveIfDue(milliseconds(5'000));  // the first is under way
  EXPECT_EQ(store_.tried.size(), 1);
  store_.Answer();
  SaveIfDue(milliseconds(999));
  EXPECT_EQ(store_.tried.size(), 1);
  SaveIfDue(milliseconds(1'000));
  EXPECT_EQ(store_.tried.size(), 2);
}

TEST_F(CheckpointWriterTest, AHurryDoesNotWait) {
  Deliver(0x10);
  SaveIfDue(milliseconds(0));
  store_.Answer();
  Deliver(0x20);
  SaveIfDue(milliseconds(1), /*hurry=*/true);
  EXPECT_EQ(store_.tried.size(), 2);
}

TEST_F(CheckpointWriterTest, P7IdleProgressIsStoredSeldom) {
  Deliver(0x10);
  SaveIfDue(milliseconds(0));
  store_.Answer();
  progress_.OnKeepalive(Lsn(0x1000));
  SaveIfDue(milliseconds(9'999));
  EXPECT_EQ(store_.tried.size(), 1);
  SaveIfDue(milliseconds(10'000));
  ASSERT_EQ(store_.tried.size(), 2);
  EXPECT_EQ(store_.tried[1].confirmed, Lsn(0x1000));
  store_.Answer();
  SaveIfDue(milliseconds(60'000));  // nothing new
  EXPECT_EQ(store_.tried.size(), 2);
}

TEST_F(CheckpointWriterTest, P9RepeatsItselfWhereTheStoreNeedsThat) {
  store_.repeats = true;
  Deliver(0x10);
  SaveIfDue(milliseconds(0));
  store_.Answer();
  SaveIfDue(milliseconds(59'999), /*hurry=*/true);
  EXPECT_EQ(store_.tried.size(), 1);
  SaveIfDue(milliseconds(60'000));
  ASSERT_EQ(store_.tried.size(), 2);
  EXPECT_EQ(store_.tried[1].position, store_.tried[0].position);
  EXPECT_EQ(store_.tried[1].confirmed, store_.tried[0].confirmed);
}

TEST_F(CheckpointWriterTest, P2AFailureConfirmsNothingAndIsTriedAgain) {
  Deliver(0x10);
  SaveIfDue(milliseconds(0));
  store_.Answer(absl::UnavailableError("disk full"));
  EXPECT_EQ(writer_.confirmable(), Lsn(1));
  EXPECT_EQ(writer_.failing_since(), MonotonicTime(seconds(100)));
  SaveIfDue(milliseconds(999), /*hurry=*/true);
  EXPECT_EQ(store_.tried.size(), 1);
  SaveIfDue(milliseconds(1'000));
  store_.Answer();
  EXPECT_EQ(writer_.confirmable(), Lsn(0x18));
  EXPECT_EQ(writer_.failing_since(), std::nullopt);
}

TEST_F(CheckpointWriterTest, P1AHorizonIsStoredWithWhatCoversIt) {
  const XminHorizon horizon{50, WallTime(seconds(1))};
  writer_.OnHorizon({Lsn(0x18), {40, WallTime()}});  // asked for too early
  writer_.OnHorizon({Lsn(0x28), horizon});
  Deliver(0x10);
  SaveIfDue(milliseconds(0));
  store_.Answer();
  EXPECT_FALSE(store_.tried[0].horizon.is_known());
  Deliver(0x20);
  SaveIfDue(milliseconds(1'000));
  store_.Answer();
  EXPECT_EQ(store_.tried[1].horizon, horizon);
  Deliver(0x30);
  SaveIfDue(milliseconds(2'000));
  EXPECT_EQ(store_.tried[2].horizon, horizon) << "until there is a newer one";
}

TEST_F(CheckpointWriterTest, P2ASaveThatEndsAfterItsSessionChangesNothing) {
  Deliver(0x10);
  SaveIfDue(milliseconds(0));
  Checkpoint other;
  other.confirmed = Lsn(0x500);
  writer_.Begin(other);
  Deliver(0x600);
  SaveIfDue(milliseconds(60'000));  // not while the store is busy
  EXPECT_EQ(store_.tried.size(), 1);
  store_.Answer();
  EXPECT_EQ(writer_.confirmable(), Lsn(0x500));
  SaveIfDue(milliseconds(60'000));
  store_.Answer();
  EXPECT_EQ(writer_.confirmable(), Lsn(0x608));
}

TEST_F(CheckpointWriterTest, KeepsTheTopicsThatTurnOutLater) {
  Deliver(10);
  SaveIfDue(milliseconds(0));
  writer_.NoteKafka("cluster", "orders=a");  // while the store is at work
  store_.Answer();
  EXPECT_EQ(store_.tried.back().kafka_topics, "");
  SaveIfDue(kInterval - milliseconds(1));
  EXPECT_EQ(store_.tried.size(), 1u);
  SaveIfDue(kInterval);
  ASSERT_EQ(store_.tried.size(), 2u);
  store_.Answer();
  EXPECT_EQ(writer_.saved().kafka_cluster, "cluster");
  EXPECT_EQ(writer_.saved().kafka_topics, "orders=a");
  EXPECT_EQ(writer_.saved().position, (Position{Lsn(10), 1}));
  SaveIfDue(kInterval * 2);
  EXPECT_EQ(store_.tried.size(), 2u);
}

TEST_F(CheckpointWriterTest, P2StoresNothingThatIsOnlyReceived) {
  Deliver(0x10);
  OfferOne({Lsn(0x20), 1});
  progress_.OnTransactionEnd(Lsn(0x28));
  SaveIfDue(milliseconds(0));
  ASSERT_EQ(store_.tried.size(), 1u);
  EXPECT_EQ(store_.tried[0].confirmed, Lsn(0x18));
  EXPECT_EQ(store_.tried[0].position, (Position{Lsn(0x10), 1}));
}

// P9: by it, a restored server is told apart.
TEST_F(CheckpointWriterTest, StoresTheTransactionOfItsPosition) {
  const std::vector<Value> references = {Value("order")};
  Event event;
  event.position = {Lsn(0x10), 1};
  event.xid = Xid(745);
  event.commit_time = WallTime(seconds(9));
  event.references = references;
  ASSERT_EQ(progress_.OnEvent(event, absl::OkStatus()),
            Sender::Offer::kAccepted);
  sender_.OnAcknowledged(0, WallTime());
  SaveIfDue(milliseconds(0));
  ASSERT_EQ(store_.tried.size(), 1u);
  EXPECT_EQ(store_.tried[0].commit_xid, Xid(745));
  EXPECT_EQ(store_.tried[0].commit_time, WallTime(seconds(9)));
}

TEST_F(CheckpointWriterTest, P1StoresWhatWasPassedOverWithTheLsnBehindIt) {
  PassedOverRows rows(PassedOverRows::Kept::kInCheckpoints);
  CheckpointWriter writer(
      &store_, kInterval, progress_, [] {}, nullptr, &rows);
  Checkpoint begin;
  begin.confirmed = Lsn(1);
  begin.coverage = "1:2,public.outbox=3,*=passed.7@0/5";
  writer.Begin(begin);
  rows.OnRow(9, "public.more", Lsn(100));
  Deliver(200);
  writer.SaveIfDue(MonotonicTime(seconds(100)), WallTime(), /*hurry=*/true);
  ASSERT_EQ(store_.tried.size(), 1u);
  EXPECT_EQ(store_.tried.back().coverage,
            "1:2,public.outbox=3,*=passed.7@0/5.9@0/64");
  rows.OnRow(11, "public.late", Lsn(300));
  store_.Answer();
  EXPECT_TRUE(rows.pending().Contains(11)) << "the next checkpoint has it";
  EXPECT_FALSE(rows.pending().Contains(9));
  EXPECT_EQ(writer.confirmable(), Lsn(208));
}

TEST_F(CheckpointWriterTest, P1WhatWasNotStoredIsStillToBeStored) {
  PassedOverRows rows(PassedOverRows::Kept::kInCheckpoints);
  CheckpointWriter writer(
      &store_, kInterval, progress_, [] {}, nullptr, &rows);
  Checkpoint begin;
  begin.confirmed = Lsn(1);
  writer.Begin(begin);
  rows.OnRow(9, "public.more", Lsn(100));
  Deliver(200);
  writer.SaveIfDue(MonotonicTime(seconds(100)), WallTime(), /*hurry=*/true);
  store_.Answer(absl::UnavailableError("away"));
  EXPECT_TRUE(rows.pending().Contains(9));
}

}  // namespace
}  // namespace walpost
