#include "delivery/wal_progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/memory_sink.h"

namespace walpost {
namespace {

using testing::MemorySink;
using Offer = Sender::Offer;
using Values = std::vector<std::string>;

constexpr WallTime kCommitTime(std::chrono::seconds(1'000));

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

class WalProgressTest : public ::testing::Test {
 protected:
  WalProgressTest() { sender_.SetSink(&sink_); }

  static std::unique_ptr<RecordBuilder> MakeBuilder() {
    OutboxOptions options;
    options.tables.resize(1);
    return RecordBuilder::Create(options).value();
  }

  static AcknowledgementWindow::Options Limits() {
    AcknowledgementWindow::Options options;
    options.max_records = 4;
    options.max_bytes = 100'000;
    return options;
  }

  // The value names the event. Those that begin with '!' have no legal topic.
  static Event MakeEvent(Position position, const std::string& value,
                         std::vector<Value>& references) {
    Event event;
    event.position = position;
    event.commit_time = kCommitTime;
    event.timestamp = kCommitTime;
    event.id = value;
    event.aggregate_id = "k";
    event.payload = value;
    references = {value.starts_with("!") ? Value("no topic!") : Value("order")};
    event.references = references;
    return event;
  }

  Offer OfferEvent(Position position, const std::string& value) {
    std::vector<Value> references;
    return progress_.OnEvent(MakeEvent(position, value, references),
                             absl::OkStatus());
  }

  Offer OfferCommit(const CommitIdentity& commit, uint64_t ordinal,
                    const std::string& value) {
    std::vector<Value> references;
    Event event = MakeEvent({commit.lsn, ordinal}, value, references);
    event.xid = commit.xid;
    event.commit_time = commit.time;
    return progress_.OnEvent(event, absl::OkStatus());
  }

  Offer OfferUndeliverable(Position position) {
    Event event;
    event.position = position;
    return progress_.OnEvent(event,
                             absl::InvalidArgumentError("a column is wrong"));
  }

  void Acknowledge(Sequence sequence) {
    sender_.OnAcknowledged(sequence,
                           kCommitTime + std::chrono::milliseconds(3));
  }

  // As the owner does when the sink is lost.
  void ReplaceSink(MemorySink& next) {
    sender_.SetSink(nullptr);
    sender_.Rewind();
    sender_.SetSink(&next);
  }

  // The brokers reject "a" and "b" of 100 together; `next` is the next sink.
  void RejectBatch(MemorySink& next) {
    OfferEvent(At(100, 1), "a");
    OfferEvent(At(100, 2), "b");
    for (const Sequence sequence : {0, 1}) {
      sender_.OnNotDelivered(sequence, absl::InvalidArgumentError("batch"));
    }
    ReplaceSink(next);
  }

  MemorySink sink_;
  Sender sender_{MakeBuilder(), Limits()};
  WalProgress progress_{sender_};
};

// ---- The ordinary way.

TEST_F(WalProgressTest, ProducesAnEventAndConfirmsItsEndWhenAcknowledged) {
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  ASSERT_EQ(sink_.accepted().size(), 1u);
  EXPECT_EQ(sink_.accepted()[0].topic, "outbox.event.order");
  EXPECT_EQ(sink_.accepted()[0].key, "k");
  EXPECT_EQ(sink_.accepted()[0].value, "a");
  EXPECT_FALSE(progress_.confirmed().is_valid());
  Acknowledge(sink_.accepted()[0].sequence);
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
}

TEST_F(WalProgressTest, P2ConfirmsNothingPastAnUnacknowledgedEvent) {
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  OfferEvent(At(200), "b");
  progress_.OnTransactionEnd(Lsn(210));
  progress_.OnKeepalive(Lsn(300));
  Acknowledge(sink_.accepted()[1].sequence);
  EXPECT_FALSE(progress_.confirmed().is_valid());
  Acknowledge(sink_.accepted()[0].sequence);
  EXPECT_EQ(progress_.confirmed(), Lsn(300));
}

TEST_F(WalProgressTest, P7KeepalivesAreConfirmedWhileNothingIsOutstanding) {
  progress_.OnKeepalive(Lsn(50));
  EXPECT_EQ(progress_.confirmed(), Lsn(50));
  progress_.OnTransactionEnd(Lsn(60));  // empty: PostgreSQL 14
  EXPECT_EQ(progress_.confirmed(), Lsn(60));
}

TEST_F(WalProgressTest, CountsWhatItDoes) {
  OfferEvent(At(100, 1), "abc");
  OfferEvent(At(100, 2), "de");
  progress_.OnTransactionEnd(Lsn(110));
  Acknowledge(0);
  OfferEvent(At(100, 1), "abc");
  const DeliveryCounters& counters = sender_.counters();
  EXPECT_EQ(counters.events, 3u);
  EXPECT_EQ(counters.repeats, 1u);
  EXPECT_EQ(counters.produced, 2u);
  EXPECT_EQ(counters.acknowledged, 1u);
  EXPECT_EQ(counters.value_bytes, 5u);
  EXPECT_EQ(counters.transactions, 1u);
}

TEST_F(WalProgressTest, MeasuresFromCommitToAcknowledgement) {
  OfferEvent(At(100), "a");
  Acknowledge(0);
  EXPECT_EQ(sender_.latencies().all().count(), 1u);
  EXPECT_EQ(sender_.latencies().all().sum(), std::chrono::milliseconds(3));
}

// ---- A stream that begins again.

TEST_F(WalProgressTest, P9AWalThatHasForkedIsNotPublishedNorConfirmed) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  Acknowledge(0);
  progress_.OnKeepalive(Lsn(300));
  progress_.BeginStream(Lsn(50));  // the slot went back
  EXPECT_FALSE(progress_.is_history_settled());
  EXPECT_EQ(OfferEvent(At(200), "forked"), Offer::kBackpressure);
  ASSERT_FALSE(progress_.Health().ok());
  EXPECT_FALSE(progress_.CanTake());
  EXPECT_EQ(OfferUndeliverable(At(100)), Offer::kBackpressure);
  progress_.OnKeepalive(Lsn(400));
  EXPECT_EQ(progress_.confirmed(), Lsn(300));
  EXPECT_EQ(sink_.accepted().size(), 1u);
}

TEST_F(WalProgressTest, P5WhatIsKnownIsPassedOverWhenTheSlotWentBack) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  Acknowledge(0);
  progress_.BeginStream(Lsn(50));
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_TRUE(progress_.is_history_settled());
  EXPECT_EQ(OfferEvent(At(200), "b"), Offer::kAccepted);
  EXPECT_EQ(sink_.accepted().size(), 2u);
}

// Boundaries of before the restore are reached when what was in flight is.
TEST_F(WalProgressTest, P2P9WhatWasInFlightSettlesNothing) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  progress_.OnKeepalive(Lsn(300));
  progress_.BeginStream(Lsn(50));
  Acknowledge(0);
  EXPECT_EQ(progress_.confirmed(), Lsn(300));
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_FALSE(progress_.is_history_settled());
  EXPECT_EQ(OfferEvent(At(200), "forked"), Offer::kBackpressure);
  EXPECT_FALSE(progress_.Health().ok());
}

// There may have been events before it that an earlier process has published.
TEST_F(WalProgressTest, P1P5ASlotThatWentBackBeforeTheStartNeedsEvidence) {
  progress_.BeginStream(Lsn(200));
  progress_.OnKeepalive(Lsn(300));
  EXPECT_TRUE(progress_.LacksEvidenceFrom(Lsn(100)));
  EXPECT_FALSE(progress_.LacksEvidenceFrom(Lsn(200)));
  OfferEvent(At(310), "a");
  EXPECT_FALSE(progress_.LacksEvidenceFrom(Lsn(100)));
  progress_.BeginStream(Lsn(100));
  EXPECT_EQ(OfferEvent(At(150), "another's"), Offer::kAccepted);
  EXPECT_EQ(sink_.accepted().size(), 1u);  // passed over
  progress_.StartOver();
  EXPECT_FALSE(progress_.LacksEvidenceFrom(Lsn(100)));
}

// ---- Another beginning: Resume and StartOver.

constexpr CommitIdentity kKnownCommit = {Lsn(200), Xid(7), kCommitTime};
constexpr EventIdentity kKnownEvent = {{Lsn(200), 2}, Xid(7), kCommitTime};

TEST_F(WalProgressTest, P5ResumesBehindThePositionOfACheckpoint) {
  progress_.Resume(Lsn(150), kKnownEvent);
  EXPECT_EQ(progress_.confirmed(), Lsn(150));
  EXPECT_EQ(progress_.acknowledged_through(), At(200, 2));
  EXPECT_EQ(progress_.acknowledged(), kKnownEvent);
  progress_.BeginStream(Lsn(150));
  EXPECT_EQ(OfferCommit(kKnownCommit, 1, "a"), Offer::kAccepted);
  EXPECT_EQ(OfferCommit(kKnownCommit, 2, "b"), Offer::kAccepted);
  EXPECT_EQ(OfferCommit(kKnownCommit, 3, "c"), Offer::kAccepted);
  EXPECT_EQ(sink_.Values(), Values{"c"});
}

TEST_F(WalProgressTest, P9TheTransactionOfACheckpointHasToComeAgain) {
  progress_.Resume(Lsn(150), kKnownEvent);
  progress_.BeginStream(Lsn(150));
  const CommitIdentity another = {Lsn(200), Xid(8), kCommitTime};
  EXPECT_EQ(OfferCommit(another, 1, "a"), Offer::kBackpressure);
  EXPECT_FALSE(progress_.Health().ok());
}

// No event is known of it, and none has to come again.
TEST_F(WalProgressTest, P5ACheckpointWithoutAnEventIsTrustedUpToItsPosition) {
  progress_.Resume(Lsn(300), {{Lsn(300), 0}, Xid(7), kCommitTime});
  EXPECT_EQ(progress_.acknowledged(), (EventIdentity{{Lsn(300), 0}}));
  progress_.BeginStream(Lsn(150));
  EXPECT_EQ(OfferEvent(At(250), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(300), "b"), Offer::kAccepted);
  EXPECT_TRUE(progress_.Health().ok());
  EXPECT_EQ(sink_.Values(), Values{"b"});
}

// The server was restored, and its slot stands before all that is known.
TEST_F(WalProgressTest,
       P1ACheckpointWithoutAnEventIsNoEvidenceForWhatPrecedesIt) {
  progress_.Resume(Lsn(400), {{Lsn(300), 0}});
  EXPECT_FALSE(progress_.LacksEvidenceFrom(Lsn(300)));
  EXPECT_TRUE(progress_.LacksEvidenceFrom(Lsn(299)));
}

TEST_F(WalProgressTest, ACheckpointIsEvidenceForASlotThatWentBack) {
  progress_.BeginStream(Lsn(200));
  ASSERT_TRUE(progress_.LacksEvidenceFrom(Lsn(100)));
  progress_.Resume(Lsn(150), {At(170), Xid(7), kCommitTime});
  EXPECT_FALSE(progress_.LacksEvidenceFrom(Lsn(100)));
}

TEST_F(WalProgressTest, P1AfterAForkEverythingIsSentAgain) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  Acknowledge(0);
  OfferEvent(At(200), "in flight");
  progress_.StartOver();
  EXPECT_FALSE(progress_.confirmed().is_valid());
  EXPECT_TRUE(sender_.window().empty());
  EXPECT_EQ(progress_.acknowledged_through(), Position());
  progress_.BeginStream(Lsn(50));
  EXPECT_EQ(OfferEvent(At(90), "x"), Offer::kAccepted);  // of the other WAL
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kAccepted);
  EXPECT_EQ(sink_.Values(), (Values{"a", "in flight", "x", "a"}));
  EXPECT_EQ(OfferEvent(At(210), "y"), Offer::kAccepted)
      << "without the one at 200";
  EXPECT_TRUE(progress_.Health().ok());
}

// The slot stands where we confirmed: nobody else has moved it.
TEST_F(WalProgressTest, AReconnectNeedsNoEvidenceOfItsOwnProgress) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  Acknowledge(0);
  progress_.OnKeepalive(Lsn(300));
  progress_.BeginStream(Lsn(300));
  EXPECT_FALSE(progress_.LacksEvidenceFrom(Lsn(50)));
}

TEST_F(WalProgressTest, AnEventAtTheFloorIsEvidence) {
  progress_.BeginStream(Lsn(200));
  OfferEvent(At(200), "a");
  EXPECT_FALSE(progress_.LacksEvidenceFrom(Lsn(100)));
}

TEST_F(WalProgressTest, P2ASlotThatWasMovedConfirmsNothingThatIsInFlight) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100), "a");
  progress_.BeginStream(Lsn(200));
  EXPECT_FALSE(progress_.confirmed().is_valid() &&
               progress_.confirmed() > Lsn(50));
  EXPECT_EQ(progress_.acknowledged_through().commit_lsn, Lsn(50));
  Acknowledge(0);
  EXPECT_EQ(progress_.confirmed(), Lsn(200));
}

TEST_F(WalProgressTest, P1AfterAForkTheFlowGoesOnDespiteADivergence) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  Acknowledge(0);
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(105), "forked");
  ASSERT_FALSE(progress_.Health().ok());
  progress_.StartOver();
  EXPECT_TRUE(progress_.Health().ok());
  EXPECT_TRUE(progress_.CanTake());
}

// The same position is another event's now.
TEST_F(WalProgressTest, P1AfterAForkNothingCountsAsAcknowledgedOutOfTurn) {
  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "b");
  Acknowledge(1);
  progress_.StartOver();
  OfferEvent(At(100, 1), "c");
  OfferEvent(At(100, 2), "d");
  EXPECT_EQ(sink_.Values(), (Values{"a", "b", "c", "d"}));
}

TEST_F(WalProgressTest, P8AfterAForkNoRecordIsSuspectOrRefused) {
  MemorySink second;
  RejectBatch(second);
  OfferEvent(At(100, 1), "a");  // alone
  sender_.OnNotDelivered(second.accepted()[0].sequence,
                         absl::InvalidArgumentError("too large"));
  progress_.StartOver();
  EXPECT_EQ(OfferEvent(At(100, 1), "x"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "y"), Offer::kAccepted) << "not alone";
  EXPECT_FALSE(sender_.stoppage());
}

// ---- Holding.

TEST_F(WalProgressTest, P6HoldsWhileTheWindowIsFull) {
  for (uint64_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(OfferEvent(At(100, i), "a"), Offer::kAccepted);
  }
  EXPECT_FALSE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 5), "b"), Offer::kBackpressure);
  EXPECT_EQ(sink_.offered(), 4u);
  Acknowledge(0);
  EXPECT_TRUE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 5), "b"), Offer::kAccepted);
}

TEST_F(WalProgressTest, P6HoldsWhileTooManyBytesAreInFlight) {
  EXPECT_EQ(OfferEvent(At(100, 1), std::string(40'000, 'x')), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), std::string(40'000, 'x')), Offer::kAccepted)
      << "one may go over";
  EXPECT_EQ(OfferEvent(At(100, 3), "b"), Offer::kBackpressure);
  Acknowledge(0);
  Acknowledge(1);
  EXPECT_EQ(OfferEvent(At(100, 3), "b"), Offer::kAccepted);
}

TEST_F(WalProgressTest, HoldsWithoutASink) {
  sender_.SetSink(nullptr);
  EXPECT_FALSE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kBackpressure);
  sender_.SetSink(&sink_);
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kAccepted);
}

TEST_F(WalProgressTest, HoldsUntilAReportWhenTheSinkIsFull) {
  OfferEvent(At(100, 1), "a");
  sink_.AnswerWith(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.held().has_value());
  EXPECT_FALSE(progress_.CanTake());
  sink_.AnswerWith(absl::OkStatus());
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kBackpressure)
      << "no report yet";
  Acknowledge(0);
  EXPECT_TRUE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kAccepted);
  EXPECT_EQ(sink_.Values(), (Values{"a", "b"}));
}

TEST_F(WalProgressTest, HoldsUntilRetriedWhenTheSinkIsUnavailable) {
  OfferEvent(At(100, 1), "a");
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kBackpressure);
  Acknowledge(0);
  EXPECT_FALSE(progress_.CanTake()) << "a report makes no topic";
  EXPECT_TRUE(absl::IsUnavailable(*sender_.held()));
  sink_.AnswerWith(absl::OkStatus());
  sender_.RetryHeld();
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kAccepted);
  EXPECT_FALSE(sender_.held().has_value());
}

TEST_F(WalProgressTest, AHeldEventIsCountedOnceAndConfirmsNothing) {
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kBackpressure);
    sender_.RetryHeld();
  }
  EXPECT_EQ(sender_.counters().events, 0u);
  EXPECT_EQ(sender_.window().in_flight_records(), 0u);
  sink_.AnswerWith(absl::OkStatus());
  OfferEvent(At(100), "a");
  EXPECT_EQ(sender_.counters().events, 1u);
}

// ---- Repeats.

TEST_F(WalProgressTest, P5RepeatsAfterAReconnectArePassedOver) {
  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "b");
  Acknowledge(0);
  // The connection is lost in mid-transaction, and all of it comes again.
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 3), "c"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(sink_.Values(), (Values{"a", "b", "c"}));
  EXPECT_EQ(sender_.counters().repeats, 2u);
  Acknowledge(1);
  Acknowledge(2);
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
}

// ---- A sink that fails.

TEST_F(WalProgressTest, HoldsWhenTheSinkHasFailed) {
  OfferEvent(At(100, 1), "a");
  sink_.AnswerWith(absl::AbortedError("fatal"));
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.sink_failure().has_value());
  EXPECT_TRUE(absl::IsAborted(*sender_.sink_failure()));
  EXPECT_FALSE(progress_.CanTake());
  sender_.RetryHeld();
  EXPECT_FALSE(progress_.CanTake()) << "it takes a new sink";
  EXPECT_EQ(sender_.counters().events, 1u);
}

TEST_F(WalProgressTest, KeepsTheFirstReasonThatTheSinkFailedFor) {
  OfferEvent(At(100), "a");
  sender_.OnSinkFailed(absl::AbortedError("first"));
  sender_.OnSinkFailed(absl::AbortedError("second"));
  sender_.OnNotDelivered(0, absl::AbortedError("third"));
  EXPECT_EQ(std::string(sender_.sink_failure()->message()), "first");
}

TEST_F(WalProgressTest, P3ARewindProducesExactlyWhatIsUnacknowledgedInOrder) {
  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "b");
  progress_.OnTransactionEnd(Lsn(110));
  OfferEvent(At(200, 1), "c");
  OfferEvent(At(200, 2), "d");
  progress_.OnTransactionEnd(Lsn(210));
  Acknowledge(0);
  Acknowledge(2);
  sender_.OnSinkFailed(absl::AbortedError("fatal"));
  MemorySink next;
  ReplaceSink(next);
  EXPECT_EQ(sender_.counters().rewinds, 1u);
  EXPECT_FALSE(progress_.confirmed().is_valid()) << "so all of it comes again";

  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "b");
  progress_.OnTransactionEnd(Lsn(110));
  OfferEvent(At(200, 1), "c");
  OfferEvent(At(200, 2), "d");
  progress_.OnTransactionEnd(Lsn(210));
  EXPECT_EQ(next.Values(), (Values{"b", "d"}));
  EXPECT_EQ(sender_.counters().repeats, 2u);
  Acknowledge(next.accepted()[0].sequence);
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
  Acknowledge(next.accepted()[1].sequence);
  EXPECT_EQ(progress_.confirmed(), Lsn(210));
}

TEST_F(WalProgressTest, P3ASecondLossBeforeTheRepeatIsThroughForgetsNothing) {
  for (uint64_t i = 1; i <= 4; ++i)
    OfferEvent(At(100, i), "abcd" + std::to_string(i));
  Acknowledge(1);
  Acknowledge(3);
  MemorySink second;
  ReplaceSink(second);
  OfferEvent(At(100, 1), "1");  // and it is lost again
  MemorySink third;
  ReplaceSink(third);
  for (uint64_t i = 1; i <= 4; ++i) OfferEvent(At(100, i), std::to_string(i));
  EXPECT_EQ(second.Values(), (Values{"1"}));
  EXPECT_EQ(third.Values(), (Values{"1", "3"}));
}

TEST_F(WalProgressTest, LateReportsOfALostSinkSayNothing) {
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  MemorySink next;
  ReplaceSink(next);
  Acknowledge(0);
  EXPECT_EQ(sender_.counters().acknowledged, 0u);
  sender_.OnNotDelivered(0, absl::AbortedError("purged"));
  EXPECT_TRUE(progress_.CanTake()) << "the new sink is well";
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_FALSE(progress_.confirmed().is_valid());
}

TEST_F(WalProgressTest, ARewindDropsWhatWasHeld) {
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  OfferEvent(At(100), "a");
  MemorySink next;
  ReplaceSink(next);
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kAccepted);
}

TEST_F(WalProgressTest, WhatWasNotDeliveredNeedsANewSink) {
  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "b");
  sender_.OnNotDelivered(1, absl::AbortedError("gapless"));
  EXPECT_TRUE(sender_.sink_failure().has_value());
  EXPECT_EQ(sender_.counters().not_delivered, 1u);
  Acknowledge(0);
  EXPECT_EQ(sender_.window().in_flight_records(), 1u) << "b, as before";
}

// ---- One bad event (P8).

TEST_F(WalProgressTest, P8StopsBeforeAnEventWithoutARecord) {
  OfferEvent(At(100, 1), "a");
  EXPECT_EQ(OfferEvent(At(100, 2), "!bad"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_EQ(sender_.stoppage()->position, At(100, 2));
  EXPECT_EQ(sender_.stoppage()->event_id, "!bad");
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.stoppage()->reason));
  EXPECT_FALSE(progress_.CanTake());
  EXPECT_EQ(sink_.Values(), (Values{"a"}));
}

TEST_F(WalProgressTest, P8StopsBeforeAnUndeliverableEvent) {
  EXPECT_EQ(OfferUndeliverable(At(100, 1)), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_EQ(sender_.stoppage()->position, At(100, 1));
  EXPECT_EQ(sender_.stoppage()->event_id, "");
}

TEST_F(WalProgressTest, P8KeepsTheFirstReasonToStop) {
  OfferUndeliverable(At(100, 1));
  EXPECT_EQ(OfferUndeliverable(At(100, 2)), Offer::kBackpressure);
  EXPECT_EQ(sender_.stoppage()->position, At(100, 1));
}

TEST_F(WalProgressTest, P2NothingIsConfirmedPastAStopAndAllBeforeItIs) {
  OfferEvent(At(100), "a");
  progress_.OnTransactionEnd(Lsn(110));
  OfferEvent(At(200, 1), "b");
  EXPECT_EQ(OfferUndeliverable(At(200, 2)), Offer::kBackpressure);
  Acknowledge(0);
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
  Acknowledge(1);
  EXPECT_EQ(progress_.confirmed(), Lsn(110)) << "its transaction has no end";
}

TEST_F(WalProgressTest, P8AStopOutlivesAReconnect) {
  OfferEvent(At(100, 1), "a");
  OfferUndeliverable(At(100, 2));
  EXPECT_FALSE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  EXPECT_TRUE(sender_.stoppage().has_value());
}

TEST_F(WalProgressTest, P1WhatWasInFlightBeforeAStopGoesOutAgainAfterARewind) {
  OfferEvent(At(100, 1), "a");
  OfferUndeliverable(At(100, 2));
  MemorySink next;
  ReplaceSink(next);
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferUndeliverable(At(100, 2)), Offer::kBackpressure);
  EXPECT_TRUE(sender_.stoppage().has_value());
  EXPECT_EQ(next.Values(), (Values{"a"}));
}

// Kafka may be away before the stream comes back to it.
TEST_F(WalProgressTest, P10AnEventThatStopsTheFlowIsKnownThroughARewind) {
  OfferEvent(At(100, 1), "a");
  OfferUndeliverable(At(100, 2));
  MemorySink next;
  ReplaceSink(next);
  EXPECT_FALSE(sender_.stoppage().has_value());
  ASSERT_TRUE(sender_.known_stoppage().has_value());
  EXPECT_EQ(sender_.known_stoppage()->position, At(100, 2));
  MemorySink third;
  ReplaceSink(third);
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_TRUE(sender_.known_stoppage().has_value());
  // Its cause is fixed.
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kAccepted);
  EXPECT_FALSE(sender_.known_stoppage().has_value());
}

TEST_F(WalProgressTest,
       AnEventThatStopsTheFlowIsForgottenOnceAnotherHasPassedIt) {
  progress_.BeginStream(Lsn(50));
  OfferUndeliverable(At(100, 1));
  MemorySink next;
  ReplaceSink(next);
  progress_.BeginStream(Lsn(50));
  EXPECT_TRUE(sender_.known_stoppage().has_value());
  progress_.Resume(Lsn(110), {At(100, 2)});
  progress_.BeginStream(Lsn(110));
  EXPECT_FALSE(sender_.known_stoppage().has_value());
  OfferUndeliverable(At(120, 1));
  progress_.StartOver();
  EXPECT_FALSE(sender_.known_stoppage().has_value());
}

TEST_F(WalProgressTest, P8StopsWhenTheSinkCanNeverTakeTheRecord) {
  for (const auto& answer : {absl::InvalidArgumentError("too large"),
                             absl::FailedPreconditionError("no ACL")}) {
    MemorySink sink;
    Sender sender(MakeBuilder(), Limits());
    WalProgress progress(sender);
    sender.SetSink(&sink);
    sink.AnswerWith(answer);
    std::vector<Value> references;
    EXPECT_EQ(
        progress.OnEvent(MakeEvent(At(100), "a", references), absl::OkStatus()),
        Offer::kBackpressure);
    ASSERT_TRUE(sender.stoppage().has_value());
    EXPECT_EQ(sender.stoppage()->reason, answer);
    EXPECT_FALSE(sender.sink_failure().has_value());
    EXPECT_TRUE(sender.window().empty());
  }
}

TEST_F(WalProgressTest, P8ARecordThatIsRefusedAloneStopsTheFlow) {
  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "too large");
  OfferEvent(At(100, 3), "c");
  sender_.OnNotDelivered(1, absl::InvalidArgumentError("too large"));
  sender_.OnNotDelivered(2, absl::AbortedError("gapless"));
  sender_.OnNotDelivered(0, absl::AbortedError("gapless"));

  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "too large"), Offer::kBackpressure)
      << "not alone";
  Acknowledge(second.accepted()[0].sequence);
  EXPECT_EQ(OfferEvent(At(100, 2), "too large"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 3), "c"), Offer::kBackpressure)
      << "it goes alone";
  EXPECT_FALSE(sender_.stoppage().has_value());
  sender_.OnNotDelivered(second.accepted()[1].sequence,
                         absl::InvalidArgumentError("too large"));

  MemorySink third;
  ReplaceSink(third);
  EXPECT_EQ(OfferEvent(At(100, 2), "too large"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_EQ(sender_.stoppage()->position, At(100, 2));
  EXPECT_EQ(sender_.stoppage()->event_id, "too large");
  EXPECT_EQ(std::string(sender_.stoppage()->reason.message()), "too large");
  EXPECT_EQ(third.offered(), 0u);
}

TEST_F(WalProgressTest, P8ARecordThatWasAloneNeedsNoSecondTrial) {
  OfferEvent(At(100), "too large");
  sender_.OnNotDelivered(0, absl::InvalidArgumentError("too large"));
  ASSERT_TRUE(sender_.refused().has_value());
  EXPECT_EQ(sender_.refused()->position, At(100));
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100), "too large"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_EQ(sender_.stoppage()->position, At(100));
  EXPECT_EQ(second.offered(), 0u);
}

TEST_F(WalProgressTest, SuspectsOfTheOwnerGoOneAtATime) {
  sender_.Suspect(At(100, 2), At(100, 3));
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kBackpressure);
  Acknowledge(0);
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 3), "c"), Offer::kBackpressure);
  Acknowledge(1);
  EXPECT_EQ(OfferEvent(At(100, 3), "c"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 4), "d"), Offer::kBackpressure);
  Acknowledge(2);
  EXPECT_EQ(OfferEvent(At(100, 4), "d"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 5), "e"), Offer::kAccepted);
}

// The broker answers for the whole batch: for one that is too large although
// each of its records is not, or for the worst of them.
TEST_F(WalProgressTest, P8OfABatchThatIsRefusedTheGoodRecordsGoOut) {
  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "b");
  OfferEvent(At(100, 3), "bad");
  for (const Sequence sequence : {0, 2, 1}) {
    sender_.OnNotDelivered(sequence, absl::InvalidArgumentError("batch"));
  }
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_FALSE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kBackpressure);
  Acknowledge(second.accepted()[0].sequence);
  EXPECT_TRUE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kAccepted);
  Acknowledge(second.accepted()[1].sequence);
  EXPECT_EQ(OfferEvent(At(100, 3), "bad"), Offer::kAccepted);
  sender_.OnNotDelivered(second.accepted()[2].sequence,
                         absl::InvalidArgumentError("this one"));
  MemorySink third;
  ReplaceSink(third);
  EXPECT_EQ(OfferEvent(At(100, 3), "bad"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_EQ(sender_.stoppage()->position, At(100, 3));
}

TEST_F(WalProgressTest, P8RecordsInFrontOfARefusedBatchDoNotGoOneAtATime) {
  for (const uint64_t i : {1, 2, 3}) OfferEvent(At(100, i), "a");
  sender_.OnNotDelivered(2, absl::InvalidArgumentError("too large"));
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 3), "a"), Offer::kBackpressure);
}

TEST_F(WalProgressTest, P8AfterABatchThatWasTooLargeAsAWholeTheFlowGoesOn) {
  MemorySink second;
  RejectBatch(second);
  for (uint64_t ordinal : {1, 2}) {
    EXPECT_EQ(OfferEvent(At(100, ordinal), "x"), Offer::kAccepted);
    Acknowledge(second.accepted().back().sequence);
  }
  EXPECT_EQ(OfferEvent(At(100, 3), "c"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 4), "d"), Offer::kAccepted) << "no more alone";
  EXPECT_EQ(second.offered(), 4u);
}

// As it was, when it came first.
TEST_F(WalProgressTest, P8ARepeatThatCannotBeMappedAnyMoreIsPassedOver) {
  EXPECT_EQ(OfferEvent(At(100), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferUndeliverable(At(100)), Offer::kAccepted);
  EXPECT_FALSE(sender_.stoppage().has_value());
}

// An event with an error does not wait for the sink: it will not go there.
TEST_F(WalProgressTest, P8AnUndeliverableEventStopsEvenWithoutASink) {
  sender_.SetSink(nullptr);
  EXPECT_EQ(OfferUndeliverable(At(100)), Offer::kBackpressure);
  EXPECT_TRUE(sender_.stoppage().has_value());
}

}  // namespace
}  // namespace walpost
