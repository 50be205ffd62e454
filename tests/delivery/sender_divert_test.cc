// Sender: dead letters and events that are left out.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reason_code.h"
#include "support/sender_fixture.h"

namespace walpost {
namespace {

using testing::MemorySink;
using testing::SenderFixture;
using Topics = std::vector<std::string>;

class SenderSetAsideTest : public SenderFixture {
 protected:
  SenderSetAsideTest() : SenderFixture(ToTopic()) {
    Choose(kReasonTopicIllegal, ErrorAction::kDeadLetter);
    Choose(kReasonRecordTooLarge, ErrorAction::kDeadLetter);
    Choose(kReasonColumnUnreadable, ErrorAction::kDeadLetter);
    Choose(kReasonTopicFieldMissing, ErrorAction::kSkip);
  }

  static OutboxOptions ToTopic() {
    OutboxOptions options;
    options.dead_letter.topic = "dead";
    return options;
  }

  void Choose(std::string_view error_class, ErrorAction action) {
    actions_.Set(FindErrorClass(error_class), action);
    sender_.SetErrorActions(actions_, [this](const DivertedEvent& event) {
      said_.push_back(event);
    });
  }

  Offer OfferUnmapped(Position position) {
    Event event;
    event.position = position;
    return progress_.OnEvent(
        event, Undeliverable(kReasonColumnUnreadable, "not a date"));
  }

  static Topics TopicsOf(const MemorySink& sink) {
    Topics topics;
    for (const MemorySink::Accepted& record : sink.accepted()) {
      topics.push_back(record.topic);
    }
    return topics;
  }

  // Number and milliseconds.
  using Sums = std::map<std::string, std::pair<uint64_t, int64_t>>;
  Sums LatencyByTopic() const {
    Sums sums;
    sender_.latencies().by_topic().ForEach(
        [&sums](std::string_view topic, const NamedLatencies::Latencies& some) {
          sums[std::string(topic)] = {some.count(), some.sum.count() / 1'000};
        });
    return sums;
  }

  static std::vector<uint64_t> Counts(uint64_t of_table) {
    return {of_table, 0};  // and of the logical messages
  }

  void AcknowledgeAll(MemorySink& sink) {
    for (const MemorySink::Accepted& record : sink.accepted()) {
      sender_.OnAcknowledged(record.sequence, WallTime());
    }
  }

  // The brokers reject the event at 100, alone; `next` is the next sink.
  void RejectFirst(MemorySink& next) {
    OfferEvent(At(100, 1));
    sender_.OnNotDelivered(0, TooLarge());
    ReplaceSink(next);
  }

  uint64_t Count(const DeliveryCounters::ByClass& counts,
                 std::string_view error_class) const {
    return counts[FindErrorClass(error_class)];
  }

  ErrorActions actions_;
  std::vector<DivertedEvent> said_;
};

TEST_F(SenderSetAsideTest, CountsRecordsByTheirSourceWithoutDeadLetters) {
  OfferEvent(At(1));
  OfferEvent(At(2));
  OfferEvent(At(3), "a b");
  EXPECT_EQ(TopicsOf(sink_), (Topics{"t.order", "t.order", "dead"}));
  EXPECT_EQ(sender_.sent_by_source(), Counts(2));
  sink_.AnswerWith(absl::ResourceExhaustedError("full"));
  OfferEvent(At(4));
  EXPECT_EQ(sender_.sent_by_source(), Counts(2));
}

TEST_F(SenderSetAsideTest, LatenciesCountForTheTopicOfTheRecord) {
  OfferEvent(At(1));
  OfferEvent(At(2), "refund");
  OfferEvent(At(3), "a b");
  OfferEvent(At(4));
  sender_.OnAcknowledged(3, WallTime(std::chrono::milliseconds(5)));
  sender_.OnAcknowledged(1, WallTime(std::chrono::milliseconds(7)));
  sender_.OnAcknowledged(2, WallTime(std::chrono::milliseconds(9)));
  EXPECT_EQ(
      LatencyByTopic(),
      (Sums{{"t.order", {1, 5}}, {"t.refund", {1, 7}}, {"dead", {1, 9}}}));
  EXPECT_EQ(sender_.latencies().all().sum(), std::chrono::milliseconds(21));
}

TEST_F(SenderSetAsideTest, LatenciesEndWithTheCommitIfThereAreTransactions) {
  sender_.AwaitCommits();
  OfferEvent(At(1));
  OfferEvent(At(2), "refund");
  AcknowledgeAll(sink_);
  EXPECT_EQ(LatencyByTopic(),
            (Sums{{"t.order", {0, 0}}, {"t.refund", {0, 0}}}));
  sender_.OnCommitted(WallTime(std::chrono::milliseconds(40)));
  EXPECT_EQ(LatencyByTopic(),
            (Sums{{"t.order", {1, 40}}, {"t.refund", {1, 40}}}));
}

TEST_F(SenderSetAsideTest, ADeadLetterTakesTheEventsPlace) {
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 3)), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(TopicsOf(sink_), (Topics{"t.order", "dead", "t.order"}));
  EXPECT_EQ(sink_.accepted()[1].key, "k");
  EXPECT_EQ(sink_.accepted()[1].value, "v");
  EXPECT_FALSE(sender_.stoppage());
}

TEST_F(SenderSetAsideTest, P2NothingIsConfirmedBeforeItsDeadLetterIsDurable) {
  OfferEvent(At(100), "a b");
  progress_.OnTransactionEnd(Lsn(110));
  OfferEvent(At(200));
  progress_.OnTransactionEnd(Lsn(210));
  sender_.OnAcknowledged(sink_.accepted()[1].sequence, WallTime());
  EXPECT_FALSE(progress_.confirmed().is_valid());
  const DeliveryCounters& counters = sender_.counters();
  EXPECT_EQ(Count(counters.dead_letters, kReasonTopicIllegal), 0u);
  sender_.OnAcknowledged(sink_.accepted()[0].sequence, WallTime());
  EXPECT_EQ(progress_.confirmed(), Lsn(210));
  EXPECT_EQ(Count(counters.dead_letters, kReasonTopicIllegal), 1u);
  EXPECT_EQ(DeliveryCounters::Sum(counters.dead_letters), 1u);
  EXPECT_EQ(DeliveryCounters::Sum(counters.skipped), 0u);
}

TEST_F(SenderSetAsideTest, ASkippedEventIsConfirmedWithItsNeighbours) {
  OfferEvent(At(100));
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(OfferEvent(At(200), ""), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(210));
  EXPECT_EQ(TopicsOf(sink_), Topics{"t.order"});
  EXPECT_FALSE(progress_.confirmed().is_valid());
  AcknowledgeAll(sink_);
  EXPECT_EQ(progress_.confirmed(), Lsn(210));
  EXPECT_EQ(Count(sender_.counters().skipped, kReasonTopicFieldMissing), 1u);
  EXPECT_EQ(sender_.counters().acknowledged, 1u);
}

TEST_F(SenderSetAsideTest, SaysWhatItSetsAside) {
  OfferEvent(At(100, 1), "a b");
  OfferEvent(At(100, 2), "");
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[0].action, ErrorAction::kDeadLetter);
  EXPECT_EQ(said_[0].position, At(100, 1));
  EXPECT_EQ(said_[0].event_id, "id");
  EXPECT_EQ(ReasonCodeOf(said_[0].reason), kReasonTopicIllegal);
  EXPECT_EQ(said_[1].action, ErrorAction::kSkip);
  EXPECT_EQ(ReasonCodeOf(said_[1].reason), kReasonTopicFieldMissing);
}

TEST_F(SenderSetAsideTest, AnEventThatCannotBeMappedHasADeadLetterToo) {
  EXPECT_EQ(OfferUnmapped(At(100)), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(TopicsOf(sink_), Topics{"dead"});
  EXPECT_EQ(sink_.accepted()[0].key, std::nullopt);
  AcknowledgeAll(sink_);
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
}

TEST_F(SenderSetAsideTest, OtherClassesStopAsBefore) {
  Choose(kReasonTopicIllegal, ErrorAction::kStop);
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_EQ(sender_.stoppage()->position, At(100));
  EXPECT_TRUE(sink_.accepted().empty());
  EXPECT_TRUE(said_.empty());
}

TEST_F(SenderSetAsideTest, WithoutASinkOrRoomItWaits) {
  sender_.SetSink(nullptr);
  EXPECT_EQ(OfferUnmapped(At(100)), Offer::kBackpressure);
  EXPECT_FALSE(sender_.stoppage());
  sender_.SetSink(&sink_);
  EXPECT_EQ(OfferUnmapped(At(100)), Offer::kAccepted);
  for (uint64_t i = 2; sender_.window().HasCapacity(); ++i) {
    OfferEvent(At(100, i));
  }
  const size_t full = sink_.accepted().size();
  EXPECT_EQ(OfferEvent(At(200), "a b"), Offer::kBackpressure);
  EXPECT_EQ(OfferEvent(At(200), ""), Offer::kBackpressure);
  EXPECT_EQ(OfferUnmapped(At(200)), Offer::kBackpressure);
  EXPECT_EQ(sink_.accepted().size(), full);
}

TEST_F(SenderSetAsideTest, AnUnknownDeadLetterTopicHoldsTheFlow) {
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kBackpressure);
  EXPECT_TRUE(sender_.held());
  EXPECT_FALSE(sender_.stoppage());
  EXPECT_TRUE(said_.empty());
  sink_.AnswerWith(absl::OkStatus());
  sender_.RetryHeld();
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
}

TEST_F(SenderSetAsideTest, ADeadLetterThatTheSinkRefusesStopsTheFlow) {
  sink_.AnswerWith(TooLarge());
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  const std::string said(sender_.stoppage()->reason.message());
  EXPECT_NE(said.find("topic name"), std::string::npos) << said;
  EXPECT_NE(said.find("too large"), std::string::npos) << said;
  EXPECT_NE(said.find("set dead_letter.payload: cut, or dead_letter.store: "
                      "postgres"),
            std::string::npos)
      << said;
  EXPECT_EQ(ReasonCodeOf(sender_.stoppage()->reason), kReasonTopicIllegal);
}

// The brokers reject a batch as a whole; sent alone, the culprit is found.
TEST_F(SenderSetAsideTest, ARecordThatTheBrokersRejectGetsADeadLetter) {
  for (uint64_t i = 1; i <= 3; ++i) OfferEvent(At(100, i));
  progress_.OnTransactionEnd(Lsn(110));
  for (Sequence i = 0; i < 3; ++i) sender_.OnNotDelivered(i, TooLarge());
  MemorySink second;
  ReplaceSink(second);
  OfferEvent(At(100, 1));
  AcknowledgeAll(second);
  OfferEvent(At(100, 2));
  sender_.OnNotDelivered(second.accepted()[1].sequence, TooLarge());
  MemorySink third;
  ReplaceSink(third);
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kAccepted);  // repeated
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kAccepted);
  EXPECT_EQ(TopicsOf(third), Topics{"dead"});
  AcknowledgeAll(third);
  EXPECT_EQ(OfferEvent(At(100, 3)), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  AcknowledgeAll(third);
  EXPECT_EQ(TopicsOf(third), (Topics{"dead", "t.order"}));
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
  EXPECT_FALSE(sender_.refused());
}

// Otherwise the record would be sent, and the producer lost, once more.
TEST_F(SenderSetAsideTest, ARejectedRecordIsRememberedUntilItsLetterArrived) {
  MemorySink second;
  RejectFirst(second);
  OfferEvent(At(100, 1));
  EXPECT_EQ(TopicsOf(second), Topics{"dead"});
  sender_.OnSinkFailed(absl::AbortedError("fatal"));
  MemorySink third;
  ReplaceSink(third);
  OfferEvent(At(100, 1));
  EXPECT_EQ(TopicsOf(third), Topics{"dead"});
  EXPECT_FALSE(sender_.stoppage());
}

// It has lost the slot to an instance that has moved it past the event.
TEST_F(SenderSetAsideTest, ARejectionThatAnotherInstanceSettledIsForgotten) {
  Choose(kReasonRecordTooLarge, ErrorAction::kStop);
  MemorySink second;
  RejectFirst(second);
  progress_.BeginStream(Lsn(150));
  EXPECT_FALSE(sender_.refused());
  EXPECT_EQ(OfferEvent(At(200, 1)), Offer::kAccepted);
  EXPECT_FALSE(sender_.stoppage());
}

// After a transaction was given up, the stream shows earlier events again.
TEST_F(SenderSetAsideTest, AnEarlierEventIsSetAsideBeforeARejectedOne) {
  MemorySink second;
  RejectFirst(second);
  progress_.RewindToCheckpoint();
  Choose(kReasonColumnUnreadable, ErrorAction::kDeadLetter);
  EXPECT_EQ(OfferUnmapped(At(50, 1)), Offer::kAccepted);
  EXPECT_TRUE(sender_.refused());
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kAccepted);
  EXPECT_EQ(TopicsOf(second), (Topics{"dead", "dead"}));
  EXPECT_FALSE(sender_.stoppage());
}

TEST_F(SenderSetAsideTest, ARejectionThatNobodySettledIsKept) {
  MemorySink second;
  RejectFirst(second);
  progress_.BeginStream(Lsn(100));
  EXPECT_TRUE(sender_.refused());
}

TEST_F(SenderSetAsideTest, ARejectedRecordMayBeSkipped) {
  Choose(kReasonRecordTooLarge, ErrorAction::kSkip);
  MemorySink second;
  RejectFirst(second);
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kAccepted);
  EXPECT_EQ(TopicsOf(second), Topics{"t.order"});
  EXPECT_EQ(Count(sender_.counters().skipped, kReasonRecordTooLarge), 1u);
}

TEST_F(SenderSetAsideTest, ADeadLetterThatTheBrokersRejectStopsTheFlow) {
  MemorySink second;
  RejectFirst(second);
  OfferEvent(At(100, 1));
  sender_.OnNotDelivered(second.accepted()[0].sequence, TooLarge());
  MemorySink third;
  ReplaceSink(third);
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_TRUE(sender_.stoppage()->is_of_dead_letter);
  EXPECT_NE(sender_.stoppage()->reason.message().find("dead letter"),
            absl::string_view::npos);
  EXPECT_TRUE(third.accepted().empty());
}

// Dead letters of unmappable events are isolated like any record.
TEST_F(SenderSetAsideTest, RejectedDeadLettersAreSentOneAtATime) {
  OfferUnmapped(At(100, 1));
  OfferUnmapped(At(100, 2));
  for (Sequence i = 0; i < 2; ++i) sender_.OnNotDelivered(i, TooLarge());
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferUnmapped(At(100, 1)), Offer::kAccepted);
  EXPECT_EQ(OfferUnmapped(At(100, 2)), Offer::kBackpressure);
  EXPECT_EQ(second.accepted().size(), 1u);
  AcknowledgeAll(second);
  EXPECT_EQ(OfferUnmapped(At(100, 2)), Offer::kAccepted);
  sender_.OnNotDelivered(second.accepted()[1].sequence, TooLarge());
  MemorySink third;
  ReplaceSink(third);
  OfferUnmapped(At(100, 1));
  EXPECT_EQ(OfferUnmapped(At(100, 2)), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_EQ(sender_.stoppage()->position, At(100, 2));
}

TEST_F(SenderSetAsideTest, ARepeatedSkipIsARepeat) {
  OfferEvent(At(100, 1));
  OfferEvent(At(100, 2), "");
  MemorySink second;
  ReplaceSink(second);
  OfferEvent(At(100, 1));
  OfferEvent(At(100, 2), "");
  EXPECT_EQ(said_.size(), 1u);
  EXPECT_EQ(Count(sender_.counters().skipped, kReasonTopicFieldMissing), 1u);
}

TEST_F(SenderSetAsideTest, ManyInARowStayWithinTheWindow) {
  for (uint64_t i = 1; i <= 100'000; ++i) {
    ASSERT_EQ(OfferEvent(At(100, i), ""), Offer::kAccepted);
  }
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
}

// ---- Decisions of an operator.

class SenderDecisionTest : public SenderSetAsideTest {
 protected:
  SenderDecisionTest() { Choose(kReasonTopicIllegal, ErrorAction::kStop); }
};

TEST_F(SenderDecisionTest, AStoppedEventMayBeSkipped) {
  OfferEvent(At(100, 1));
  OfferEvent(At(100, 2), "a b");
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_TRUE(sender_.Decide(At(100, 2), ErrorAction::kSkip));
  EXPECT_TRUE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 3)), Offer::kAccepted);
  EXPECT_EQ(TopicsOf(sink_), (Topics{"t.order", "t.order"}));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0].position, At(100, 2));
}

TEST_F(SenderDecisionTest, AStoppedEventMayHaveADeadLetter) {
  OfferEvent(At(100, 2), "a b");
  EXPECT_TRUE(sender_.Decide(At(100, 2), ErrorAction::kDeadLetter));
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kAccepted);
  EXPECT_EQ(TopicsOf(sink_), Topics{"dead"});
}

TEST_F(SenderDecisionTest, P1ARowThatWasNotMappedHasNoDeadLetter) {
  Event event;
  event.position = At(100, 1);
  const absl::Status unsuitable = WithReasonCode(
      absl::InvalidArgumentError("no column"), kReasonTableUnsuitable);
  EXPECT_EQ(progress_.OnEvent(event, unsuitable), Offer::kBackpressure);
  EXPECT_FALSE(sender_.Decide(At(100, 1), ErrorAction::kDeadLetter));
  EXPECT_TRUE(sender_.stoppage());
  EXPECT_TRUE(sender_.Decide(At(100, 1), ErrorAction::kSkip));
}

TEST_F(SenderDecisionTest, IsForThatEventAlone) {
  EXPECT_FALSE(sender_.Decide(At(100, 1), ErrorAction::kSkip));
  OfferEvent(At(100, 1), "a b");
  EXPECT_FALSE(sender_.Decide(At(100, 2), ErrorAction::kSkip));
  EXPECT_TRUE(sender_.stoppage());
  EXPECT_TRUE(sender_.Decide(At(100, 1), ErrorAction::kSkip));
  OfferEvent(At(100, 1), "a b");
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_EQ(sender_.stoppage()->position, At(100, 2));
}

TEST_F(SenderDecisionTest, HoldsAfterTheSinkWasLost) {
  OfferEvent(At(100, 1), "a b");
  sender_.Decide(At(100, 1), ErrorAction::kDeadLetter);
  OfferEvent(At(100, 1), "a b");
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kAccepted);
  EXPECT_EQ(TopicsOf(second), Topics{"dead"});
}

// Otherwise the flow would seem to go on each time that it is read again.
TEST_F(SenderDecisionTest, IsObeyedOnceIfItIsOfNoUse) {
  sink_.AnswerWith(TooLarge());
  OfferEvent(At(100, 1), "a b");
  EXPECT_TRUE(sender_.Decide(At(100, 1), ErrorAction::kDeadLetter));
  OfferEvent(At(100, 1), "a b");
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_FALSE(sender_.Decide(At(100, 1), ErrorAction::kDeadLetter));
  EXPECT_TRUE(sender_.stoppage());
  EXPECT_TRUE(sender_.Decide(At(100, 1), ErrorAction::kSkip));
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kAccepted);
}

TEST_F(SenderDecisionTest, IsVoidAfterAFork) {
  OfferEvent(At(100, 1), "a b");
  sender_.Decide(At(100, 1), ErrorAction::kSkip);
  progress_.StartOver();
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kBackpressure);
  EXPECT_TRUE(sender_.stoppage());
}

TEST_F(SenderDecisionTest, AnUnmappedEventMayBeSkipped) {
  Choose(kReasonColumnUnreadable, ErrorAction::kStop);
  OfferUnmapped(At(100, 1));
  sender_.Decide(At(100, 1), ErrorAction::kSkip);
  EXPECT_EQ(OfferUnmapped(At(100, 1)), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kAccepted);
}

TEST_F(SenderDecisionTest, AnErrorOfNoClassMayBeSetAsideByHand) {
  Event event;
  event.position = At(100, 1);
  const absl::Status reason =
      WithReasonCode(absl::FailedPreconditionError("a column is missing"),
                     kReasonTableUnsuitable);
  progress_.OnEvent(event, reason);
  sender_.Decide(At(100, 1), ErrorAction::kSkip);
  EXPECT_EQ(progress_.OnEvent(event, reason), Offer::kAccepted);
  EXPECT_EQ(sender_.counters().skipped[kOtherErrors], 1u);
}

TEST_F(SenderDecisionTest, ARejectedDeadLetterMayBeSkipped) {
  Choose(kReasonTopicIllegal, ErrorAction::kDeadLetter);
  OfferEvent(At(100, 1), "a b");
  sender_.OnNotDelivered(0, TooLarge());
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kBackpressure);
  EXPECT_TRUE(sender_.Decide(At(100, 1), ErrorAction::kSkip));
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kAccepted);
}

// ---- A sink with transactions.

class SenderCommitsTest : public SenderSetAsideTest {
 protected:
  SenderCommitsTest() { sender_.AwaitCommits(); }

  // The brokers reject both events of a transaction, one after the other; each
  // time it is given up.
  void RejectBoth(MemorySink& third) {
    MemorySink second;
    GiveUpAt(1, sink_, second);
    GiveUpAt(2, second, third);
    EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kAccepted);
    EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kAccepted);
    progress_.OnTransactionEnd(Lsn(110));
  }

 private:
  // The event of this ordinal is the last one that `sink` takes.
  void GiveUpAt(uint64_t ordinal, MemorySink& sink, MemorySink& next) {
    for (uint64_t i = 1; i < ordinal; ++i) {
      EXPECT_EQ(OfferEvent(At(100, i)), Offer::kAccepted);
      AcknowledgeAll(sink);
    }
    OfferEvent(At(100, ordinal));
    sender_.OnNotDelivered(sink.accepted().back().sequence, TooLarge());
    sender_.SetSink(nullptr);
    progress_.RewindToCheckpoint();
    sender_.SetSink(&next);
  }
};

TEST_F(SenderCommitsTest, TwoSkippedEventsAreRememberedUntilTheCommit) {
  Choose(kReasonRecordTooLarge, ErrorAction::kSkip);
  MemorySink third;
  RejectBoth(third);
  EXPECT_TRUE(third.accepted().empty());
  const DeliveryCounters& counters = sender_.counters();
  EXPECT_EQ(Count(counters.skipped, kReasonRecordTooLarge), 0u);
  sender_.OnCommitted(WallTime());
  EXPECT_EQ(Count(counters.skipped, kReasonRecordTooLarge), 2u);
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
}

TEST_F(SenderCommitsTest, TwoDeadLettersAreRememberedUntilTheCommit) {
  MemorySink third;
  RejectBoth(third);
  EXPECT_EQ(TopicsOf(third), (Topics{"dead", "dead"}));
  AcknowledgeAll(third);
  const DeliveryCounters& counters = sender_.counters();
  EXPECT_EQ(Count(counters.dead_letters, kReasonRecordTooLarge), 0u);
  sender_.OnCommitted(WallTime());
  EXPECT_EQ(Count(counters.dead_letters, kReasonRecordTooLarge), 2u);
}

}  // namespace
}  // namespace walpost
