// P1: what the live stream may confirm.
#include "session/gated_consumer.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/reason_code.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

// Saves when the test says so.
class SlowStore final : public CheckpointStore {
 public:
  void Load(Loaded done) override { done(std::nullopt); }
  void Save(const Checkpoint&, Saved done) override { done_ = std::move(done); }
  std::string Name() const override { return "slow"; }
  void Finish() { std::exchange(done_, {})(absl::OkStatus()); }

 private:
  Saved done_;
};

class GatedConsumerTest : public ::testing::Test {
 protected:
  GatedConsumerTest() {
    sender_.SetSink(&sink_);
    pause_gate_.Observe(std::nullopt);
    Checkpoint saved;
    saved.confirmed = Lsn(50);
    checkpoints_.Begin(saved);
  }

  static OutboxOptions Outbox() {
    OutboxOptions options;
    options.tables.resize(1);
    return options;
  }

  // Hands in an event that commits there, and acknowledges it.
  void Deliver(uint64_t commit_lsn) {
    Event event;
    event.position = {Lsn(commit_lsn), 1};
    event.xid = Xid(7);
    std::vector<Value> references = {Value("order")};
    event.references = references;
    ASSERT_EQ(consumer_.OnEvent(event, absl::OkStatus()),
              EventConsumer::Offer::kAccepted);
    consumer_.OnTransactionEnd(Lsn(commit_lsn + 8));
    sender_.OnAcknowledged(sink_.accepted().back().sequence, WallTime());
  }

  testing::MemorySink sink_;
  SlowStore store_;
  Sender sender_{RecordBuilder::Create(Outbox()).value(), {}};
  WalProgress progress_{sender_};
  CheckpointWriter checkpoints_{&store_, std::chrono::milliseconds(1),
                                progress_, [] {}};
  PassedOverRows passed_over_{PassedOverRows::Kept::kOnRecord};
  PauseGate pause_gate_;
  GatedConsumer consumer_{progress_, checkpoints_, passed_over_, pause_gate_};
  MonotonicTime now_{std::chrono::hours(1)};
};

TEST_F(GatedConsumerTest, P1ConfirmsOnlyWhatIsStored) {
  progress_.BeginStream(Lsn(50));
  Deliver(100);
  EXPECT_EQ(progress_.confirmed(), Lsn(108));
  EXPECT_EQ(consumer_.confirmable(), Lsn(50));
  checkpoints_.SaveIfDue(now_, WallTime(), /*hurry=*/true);
  EXPECT_EQ(consumer_.confirmable(), Lsn(50)) << "it is not stored yet";
  store_.Finish();
  EXPECT_EQ(consumer_.confirmable(), Lsn(108));
}

TEST_F(GatedConsumerTest, TakenEventsAreSampled) {
  PublishedSample sample;
  consumer_.SampleEvents(sample);
  progress_.BeginStream(Lsn(50));
  Event event;
  event.position = {Lsn(100), 1};
  event.id = "7";
  const std::vector<Value> references = {Value("order")};
  event.references = references;
  ASSERT_EQ(consumer_.OnEvent(event, absl::OkStatus()),
            EventConsumer::Offer::kAccepted);
  EXPECT_EQ(sample.ids(0), std::vector<std::string>{"7"});
}

TEST_F(GatedConsumerTest, P1ADrainWaitsForTheCheckpoint) {
  progress_.BeginStream(Lsn(50));
  Deliver(100);
  EXPECT_FALSE(consumer_.IsDrained()) << "acknowledged, but not stored";
  checkpoints_.SaveIfDue(now_, WallTime(), /*hurry=*/true);
  store_.Finish();
  EXPECT_TRUE(consumer_.IsDrained());
}

// Else a stream that is made again before the next start is not noticed.
TEST_F(GatedConsumerTest, P9ADrainWaitsUntilTheCheckpointKnowsTheTopics) {
  progress_.BeginStream(Lsn(50));
  Deliver(100);
  checkpoints_.SaveIfDue(now_, WallTime(), /*hurry=*/true);
  store_.Finish();
  checkpoints_.NoteKafka("cluster", "orders=a");
  EXPECT_FALSE(consumer_.IsDrained());
  checkpoints_.SaveIfDue(now_, WallTime(), /*hurry=*/true);
  store_.Finish();
  EXPECT_TRUE(consumer_.IsDrained());
}

// Until the known event has come again, the server may have another WAL.
TEST_F(GatedConsumerTest, P9ConfirmsNothingUntilTheHistoryIsSettled) {
  progress_.BeginStream(Lsn(50));
  Deliver(100);
  sender_.Rewind();
  progress_.BeginStream(Lsn(50));
  EXPECT_EQ(consumer_.confirmable(), Lsn());
  Event known;
  known.position = {Lsn(100), 1};
  known.xid = Xid(7);
  EXPECT_EQ(consumer_.OnEvent(known, absl::OkStatus()),
            EventConsumer::Offer::kAccepted);
  consumer_.OnTransactionEnd(Lsn(108));
  EXPECT_EQ(consumer_.confirmable(), Lsn(50));
}

TEST_F(GatedConsumerTest, P1ConfirmsNothingBehindARowThatIsNotOnRecord) {
  progress_.BeginStream(Lsn(50));
  EXPECT_TRUE(consumer_.OnPassedOver({7, "public.more", Lsn(80)}));
  Deliver(100);
  checkpoints_.SaveIfDue(now_, WallTime(), /*hurry=*/true);
  store_.Finish();
  EXPECT_EQ(consumer_.confirmable(), Lsn(80));
  EXPECT_TRUE(consumer_.IsDrained()) << "a shutdown does not wait for it";
  passed_over_.OnRecorded(passed_over_.pending());
  EXPECT_EQ(consumer_.confirmable(), Lsn(108));
}

// Whoever had them before has put them on record, or has sent them.
TEST_F(GatedConsumerTest, DoesNotNoteRowsInAPartThatIsRepeated) {
  progress_.BeginStream(Lsn(50));
  Deliver(100);
  sender_.Rewind();
  progress_.BeginStream(Lsn(50));
  EXPECT_FALSE(consumer_.OnPassedOver({7, "public.more", Lsn(90)}));
  EXPECT_TRUE(passed_over_.pending().empty());
  EXPECT_TRUE(consumer_.OnPassedOver({7, "public.more", Lsn(100)}));
  EXPECT_EQ(passed_over_.pending().Since(7), Lsn(100));
}

// ---- Pauses.

TEST_F(GatedConsumerTest, NothingIsTakenWhilePaused) {
  progress_.BeginStream(Lsn(50));
  Deliver(100);
  pause_gate_.Observe(PauseRecord{true, "alice", WallTime(), ""});
  EXPECT_FALSE(consumer_.CanTake());
  Event event;
  event.position = {Lsn(200), 1};
  const std::vector<Value> references = {Value("order")};
  event.references = references;
  EXPECT_EQ(consumer_.OnEvent(event, absl::OkStatus()),
            EventConsumer::Offer::kBackpressure);
  EXPECT_EQ(sink_.accepted().size(), 1u);
  // What was sent before is confirmed (P2).
  checkpoints_.SaveIfDue(now_, WallTime(), /*hurry=*/true);
  store_.Finish();
  EXPECT_EQ(consumer_.confirmable(), Lsn(108));
  EXPECT_TRUE(consumer_.IsDrained());
  pause_gate_.Observe(PauseRecord{false, "alice", WallTime(), ""});
  EXPECT_TRUE(consumer_.CanTake());
  Deliver(200);
}

TEST_F(GatedConsumerTest, NothingIsTakenBeforeItIsKnownWhetherItIsPaused) {
  progress_.BeginStream(Lsn(50));
  const PauseGate unread;
  const GatedConsumer consumer{progress_, checkpoints_, passed_over_, unread};
  EXPECT_FALSE(consumer.CanTake());
}

// ---- With transactions.

class GatedConsumerInTransactionsTest : public GatedConsumerTest {
 protected:
  GatedConsumerInTransactionsTest() {
    sender_.AwaitCommits();
    ErrorActions actions;
    actions.Set(FindErrorClass(kReasonRecordTooLarge), ErrorAction::kSkip);
    sender_.SetErrorActions(actions, nullptr);
    sink_.SetAfterRejection(RecordSink::AfterRejection::kGoesOn);
    batcher_.Begin();
    OfferEvent(90);
    Reject();
    progress_.RewindToCheckpoint();
    batcher_.Abandon();
    progress_.Resume(Lsn(95), {{Lsn(90), 1}});
    progress_.BeginStream(Lsn(95));
  }

  EventConsumer::Offer OfferEvent(uint64_t commit_lsn) {
    Event event;
    event.position = {Lsn(commit_lsn), 1};
    std::vector<Value> references = {Value("order")};
    event.references = references;
    return in_transactions_.OnEvent(event, absl::OkStatus());
  }
  void Reject() {
    sender_.OnNotDelivered(sink_.accepted().back().sequence,
                           Undeliverable(kReasonRecordTooLarge, "wide"));
  }

  static TransactionOptions Options() {
    TransactionOptions options;
    options.is_on = true;
    return options;
  }

  TransactionBatcher batcher_{Options()};
  GatedConsumer in_transactions_{progress_, checkpoints_, passed_over_,
                                 pause_gate_, &batcher_};
};

// It is to be committed, and with it nothing that was not in it.
TEST_F(GatedConsumerInTransactionsTest, P5ARecordCountsWhileItsEventIsHeld) {
  EXPECT_EQ(OfferEvent(100), EventConsumer::Offer::kBackpressure);
  EXPECT_EQ(batcher_.records(), 1u);
  sender_.OnAcknowledged(sink_.accepted().back().sequence, WallTime());
  batcher_.OnCommitted();
  sender_.OnCommitted(WallTime());
  EXPECT_EQ(OfferEvent(100), EventConsumer::Offer::kAccepted);
  EXPECT_EQ(batcher_.records(), 0u) << "it is committed";
}

TEST_F(GatedConsumerInTransactionsTest, P5AWithdrawnRecordIsInNoTransaction) {
  OfferEvent(100);
  Reject();
  EXPECT_EQ(batcher_.records(), 0u);
  EXPECT_EQ(batcher_.withdrawn(), 1u);
  EXPECT_EQ(OfferEvent(100), EventConsumer::Offer::kAccepted);
  EXPECT_EQ(batcher_.records(), 0u);
  EXPECT_TRUE(batcher_.MayTake());
}

}  // namespace
}  // namespace walpost
