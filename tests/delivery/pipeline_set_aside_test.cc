// Pipeline: dead letters and events that are left out.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "delivery/pipeline.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using testing::MemorySink;
using Offer = Pipeline::Offer;
using Topics = std::vector<std::string>;

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

absl::Status TooLarge() {
  return Undeliverable(kReasonRecordTooLarge, "too large");
}

class PipelineSetAsideTest : public ::testing::Test {
 protected:
  PipelineSetAsideTest() {
    pipeline_.SetSink(&sink_);
    Choose(kReasonTopicIllegal, ErrorAction::kDeadLetter);
    Choose(kReasonRecordTooLarge, ErrorAction::kDeadLetter);
    Choose(kReasonColumnUnreadable, ErrorAction::kDeadLetter);
    Choose(kReasonTopicFieldMissing, ErrorAction::kSkip);
  }

  static std::unique_ptr<RecordBuilder> MakeBuilder() {
    OutboxOptions options;
    options.tables.resize(1);
    options.route.topic = "t.{aggregate_type}";
    options.dead_letter.topic = "dead";
    return RecordBuilder::Create(options).value();
  }

  void Choose(std::string_view error_class, ErrorAction action) {
    actions_.Set(FindErrorClass(error_class), action);
    pipeline_.SetErrorActions(
        actions_, [this](const SetAside& event) { said_.push_back(event); });
  }

  // `type` "a b" makes no legal topic, "" no topic at all.
  Offer OfferEvent(Position position, const std::string& type = "order") {
    const std::vector<Value> references = {type};
    Event event;
    event.position = position;
    event.id = "id";
    event.aggregate_id = "k";
    event.payload = "v";
    event.references = references;
    return pipeline_.OnEvent(event);
  }

  Offer OfferUnmapped(Position position) {
    Event event;
    event.position = position;
    return pipeline_.OnUndeliverable(
        event, Undeliverable(kReasonColumnUnreadable, "not a date"));
  }

  static Topics TopicsOf(const MemorySink& sink) {
    Topics topics;
    for (const MemorySink::Accepted& record : sink.accepted()) {
      topics.push_back(record.topic);
    }
    return topics;
  }

  void AcknowledgeAll(MemorySink& sink) {
    for (const MemorySink::Accepted& record : sink.accepted()) {
      pipeline_.OnAcknowledged(record.sequence, WallTime());
    }
  }

  // As the owner does when the sink is lost.
  void ReplaceSink(MemorySink& next) {
    pipeline_.SetSink(nullptr);
    pipeline_.Rewind();
    pipeline_.SetSink(&next);
  }

  // The brokers reject the event at 100, alone; `next` is the next sink.
  void RejectFirst(MemorySink& next) {
    OfferEvent(At(100, 1));
    pipeline_.OnNotDelivered(0, TooLarge());
    ReplaceSink(next);
  }

  uint64_t Count(const DeliveryCounters::ByClass& counts,
                 std::string_view error_class) const {
    return counts[FindErrorClass(error_class)];
  }

  MemorySink sink_;
  Pipeline pipeline_{MakeBuilder(), {}};
  ErrorActions actions_;
  std::vector<SetAside> said_;
};

TEST_F(PipelineSetAsideTest, ADeadLetterTakesTheEventsPlace) {
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kTaken);
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kTaken);
  EXPECT_EQ(OfferEvent(At(100, 3)), Offer::kTaken);
  pipeline_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(TopicsOf(sink_), (Topics{"t.order", "dead", "t.order"}));
  EXPECT_EQ(sink_.accepted()[1].key, "k");
  EXPECT_EQ(sink_.accepted()[1].value, "v");
  EXPECT_FALSE(pipeline_.stoppage());
}

TEST_F(PipelineSetAsideTest, P2NothingIsConfirmedBeforeItsDeadLetterIsDurable) {
  OfferEvent(At(100), "a b");
  pipeline_.OnTransactionEnd(Lsn(110));
  OfferEvent(At(200));
  pipeline_.OnTransactionEnd(Lsn(210));
  pipeline_.OnAcknowledged(sink_.accepted()[1].sequence, WallTime());
  EXPECT_FALSE(pipeline_.confirmed().is_valid());
  const DeliveryCounters& counters = pipeline_.counters();
  EXPECT_EQ(Count(counters.dead_letters, kReasonTopicIllegal), 0u);
  pipeline_.OnAcknowledged(sink_.accepted()[0].sequence, WallTime());
  EXPECT_EQ(pipeline_.confirmed(), Lsn(210));
  EXPECT_EQ(Count(counters.dead_letters, kReasonTopicIllegal), 1u);
  EXPECT_EQ(DeliveryCounters::Sum(counters.dead_letters), 1u);
  EXPECT_EQ(DeliveryCounters::Sum(counters.skipped), 0u);
}

TEST_F(PipelineSetAsideTest, ASkippedEventIsConfirmedWithItsNeighbours) {
  OfferEvent(At(100));
  pipeline_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(OfferEvent(At(200), ""), Offer::kTaken);
  pipeline_.OnTransactionEnd(Lsn(210));
  EXPECT_EQ(TopicsOf(sink_), Topics{"t.order"});
  EXPECT_FALSE(pipeline_.confirmed().is_valid());
  AcknowledgeAll(sink_);
  EXPECT_EQ(pipeline_.confirmed(), Lsn(210));
  EXPECT_EQ(Count(pipeline_.counters().skipped, kReasonTopicFieldMissing), 1u);
  EXPECT_EQ(pipeline_.counters().acknowledged, 1u);
}

TEST_F(PipelineSetAsideTest, SaysWhatItSetsAside) {
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

TEST_F(PipelineSetAsideTest, AnEventThatCannotBeMappedHasADeadLetterToo) {
  EXPECT_EQ(OfferUnmapped(At(100)), Offer::kTaken);
  pipeline_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(TopicsOf(sink_), Topics{"dead"});
  EXPECT_EQ(sink_.accepted()[0].key, std::nullopt);
  AcknowledgeAll(sink_);
  EXPECT_EQ(pipeline_.confirmed(), Lsn(110));
}

TEST_F(PipelineSetAsideTest, OtherClassesStopAsBefore) {
  Choose(kReasonTopicIllegal, ErrorAction::kStop);
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kHold);
  ASSERT_TRUE(pipeline_.stoppage());
  EXPECT_EQ(pipeline_.stoppage()->position, At(100));
  EXPECT_TRUE(sink_.accepted().empty());
  EXPECT_TRUE(said_.empty());
}

TEST_F(PipelineSetAsideTest, WithoutASinkOrRoomItWaits) {
  pipeline_.SetSink(nullptr);
  EXPECT_EQ(OfferUnmapped(At(100)), Offer::kHold);
  EXPECT_FALSE(pipeline_.stoppage());
  pipeline_.SetSink(&sink_);
  EXPECT_EQ(OfferUnmapped(At(100)), Offer::kTaken);
  for (uint64_t i = 2; pipeline_.window().HasRoom(); ++i) {
    OfferEvent(At(100, i));
  }
  const size_t full = sink_.accepted().size();
  EXPECT_EQ(OfferEvent(At(200), "a b"), Offer::kHold);
  EXPECT_EQ(OfferEvent(At(200), ""), Offer::kHold);
  EXPECT_EQ(OfferUnmapped(At(200)), Offer::kHold);
  EXPECT_EQ(sink_.accepted().size(), full);
}

TEST_F(PipelineSetAsideTest, AnUnknownDeadLetterTopicHoldsTheFlow) {
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kHold);
  EXPECT_TRUE(pipeline_.held());
  EXPECT_FALSE(pipeline_.stoppage());
  EXPECT_TRUE(said_.empty());
  sink_.AnswerWith(absl::OkStatus());
  pipeline_.RetryHeld();
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kTaken);
}

TEST_F(PipelineSetAsideTest, ADeadLetterThatTheSinkRefusesStopsTheFlow) {
  sink_.AnswerWith(TooLarge());
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kHold);
  ASSERT_TRUE(pipeline_.stoppage());
  const std::string said(pipeline_.stoppage()->reason.message());
  EXPECT_NE(said.find("topic name"), std::string::npos) << said;
  EXPECT_NE(said.find("too large"), std::string::npos) << said;
  EXPECT_EQ(ReasonCodeOf(pipeline_.stoppage()->reason), kReasonTopicIllegal);
}

// The brokers reject a batch as a whole; sent alone, the culprit is found.
TEST_F(PipelineSetAsideTest, ARecordThatTheBrokersRejectGetsADeadLetter) {
  for (uint64_t i = 1; i <= 3; ++i) OfferEvent(At(100, i));
  pipeline_.OnTransactionEnd(Lsn(110));
  for (Sequence i = 0; i < 3; ++i) pipeline_.OnNotDelivered(i, TooLarge());
  MemorySink second;
  ReplaceSink(second);
  OfferEvent(At(100, 1));
  AcknowledgeAll(second);
  OfferEvent(At(100, 2));
  pipeline_.OnNotDelivered(second.accepted()[1].sequence, TooLarge());
  MemorySink third;
  ReplaceSink(third);
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kTaken);  // repeated
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kTaken);
  EXPECT_EQ(TopicsOf(third), Topics{"dead"});
  AcknowledgeAll(third);
  EXPECT_EQ(OfferEvent(At(100, 3)), Offer::kTaken);
  pipeline_.OnTransactionEnd(Lsn(110));
  AcknowledgeAll(third);
  EXPECT_EQ(TopicsOf(third), (Topics{"dead", "t.order"}));
  EXPECT_EQ(pipeline_.confirmed(), Lsn(110));
  EXPECT_FALSE(pipeline_.refused());
}

// Otherwise the record would be sent, and the producer lost, once more.
TEST_F(PipelineSetAsideTest, ARejectedRecordIsRememberedUntilItsLetterArrived) {
  MemorySink second;
  RejectFirst(second);
  OfferEvent(At(100, 1));
  EXPECT_EQ(TopicsOf(second), Topics{"dead"});
  pipeline_.OnSinkFailed(absl::AbortedError("fatal"));
  MemorySink third;
  ReplaceSink(third);
  OfferEvent(At(100, 1));
  EXPECT_EQ(TopicsOf(third), Topics{"dead"});
  EXPECT_FALSE(pipeline_.stoppage());
}

// It has lost the slot to an instance that has moved it past the event.
TEST_F(PipelineSetAsideTest, ARejectionThatAnotherInstanceSettledIsForgotten) {
  Choose(kReasonRecordTooLarge, ErrorAction::kStop);
  MemorySink second;
  RejectFirst(second);
  pipeline_.BeginStream(Lsn(150));
  EXPECT_FALSE(pipeline_.refused());
  EXPECT_EQ(OfferEvent(At(200, 1)), Offer::kTaken);
  EXPECT_FALSE(pipeline_.stoppage());
}

// After a transaction was given up, the stream shows earlier events again.
TEST_F(PipelineSetAsideTest, AnEarlierEventIsSetAsideBeforeARejectedOne) {
  MemorySink second;
  RejectFirst(second);
  pipeline_.RewindToCheckpoint();
  Choose(kReasonColumnUnreadable, ErrorAction::kDeadLetter);
  EXPECT_EQ(OfferUnmapped(At(50, 1)), Offer::kTaken);
  EXPECT_TRUE(pipeline_.refused());
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kTaken);
  EXPECT_EQ(TopicsOf(second), (Topics{"dead", "dead"}));
  EXPECT_FALSE(pipeline_.stoppage());
}

TEST_F(PipelineSetAsideTest, ARejectionThatNobodySettledIsKept) {
  MemorySink second;
  RejectFirst(second);
  pipeline_.BeginStream(Lsn(100));
  EXPECT_TRUE(pipeline_.refused());
}

TEST_F(PipelineSetAsideTest, ARejectedRecordMayBeSkipped) {
  Choose(kReasonRecordTooLarge, ErrorAction::kSkip);
  MemorySink second;
  RejectFirst(second);
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kTaken);
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kTaken);
  EXPECT_EQ(TopicsOf(second), Topics{"t.order"});
  EXPECT_EQ(Count(pipeline_.counters().skipped, kReasonRecordTooLarge), 1u);
}

TEST_F(PipelineSetAsideTest, ADeadLetterThatTheBrokersRejectStopsTheFlow) {
  MemorySink second;
  RejectFirst(second);
  OfferEvent(At(100, 1));
  pipeline_.OnNotDelivered(second.accepted()[0].sequence, TooLarge());
  MemorySink third;
  ReplaceSink(third);
  EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kHold);
  ASSERT_TRUE(pipeline_.stoppage());
  EXPECT_TRUE(pipeline_.stoppage()->is_of_dead_letter);
  EXPECT_NE(pipeline_.stoppage()->reason.message().find("dead letter"),
            absl::string_view::npos);
  EXPECT_TRUE(third.accepted().empty());
}

// Dead letters of unmappable events are isolated like any record.
TEST_F(PipelineSetAsideTest, RejectedDeadLettersAreSentOneAtATime) {
  OfferUnmapped(At(100, 1));
  OfferUnmapped(At(100, 2));
  for (Sequence i = 0; i < 2; ++i) pipeline_.OnNotDelivered(i, TooLarge());
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferUnmapped(At(100, 1)), Offer::kTaken);
  EXPECT_EQ(OfferUnmapped(At(100, 2)), Offer::kHold);
  EXPECT_EQ(second.accepted().size(), 1u);
  AcknowledgeAll(second);
  EXPECT_EQ(OfferUnmapped(At(100, 2)), Offer::kTaken);
  pipeline_.OnNotDelivered(second.accepted()[1].sequence, TooLarge());
  MemorySink third;
  ReplaceSink(third);
  OfferUnmapped(At(100, 1));
  EXPECT_EQ(OfferUnmapped(At(100, 2)), Offer::kHold);
  ASSERT_TRUE(pipeline_.stoppage());
  EXPECT_EQ(pipeline_.stoppage()->position, At(100, 2));
}

TEST_F(PipelineSetAsideTest, ARepeatedSkipIsARepeat) {
  OfferEvent(At(100, 1));
  OfferEvent(At(100, 2), "");
  MemorySink second;
  ReplaceSink(second);
  OfferEvent(At(100, 1));
  OfferEvent(At(100, 2), "");
  EXPECT_EQ(said_.size(), 1u);
  EXPECT_EQ(Count(pipeline_.counters().skipped, kReasonTopicFieldMissing), 1u);
}

TEST_F(PipelineSetAsideTest, ManyInARowStayWithinTheWindow) {
  for (uint64_t i = 1; i <= 100'000; ++i) {
    ASSERT_EQ(OfferEvent(At(100, i), ""), Offer::kTaken);
  }
  pipeline_.OnTransactionEnd(Lsn(110));
  EXPECT_EQ(pipeline_.confirmed(), Lsn(110));
}

// ---- Decisions of an operator.

class PipelineDecisionTest : public PipelineSetAsideTest {
 protected:
  PipelineDecisionTest() { Choose(kReasonTopicIllegal, ErrorAction::kStop); }
};

TEST_F(PipelineDecisionTest, AStoppedEventMayBeSkipped) {
  OfferEvent(At(100, 1));
  OfferEvent(At(100, 2), "a b");
  ASSERT_TRUE(pipeline_.stoppage());
  EXPECT_TRUE(pipeline_.Decide(At(100, 2), ErrorAction::kSkip));
  EXPECT_TRUE(pipeline_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kTaken);
  EXPECT_EQ(OfferEvent(At(100, 3)), Offer::kTaken);
  EXPECT_EQ(TopicsOf(sink_), (Topics{"t.order", "t.order"}));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0].position, At(100, 2));
}

TEST_F(PipelineDecisionTest, AStoppedEventMayHaveADeadLetter) {
  OfferEvent(At(100, 2), "a b");
  EXPECT_TRUE(pipeline_.Decide(At(100, 2), ErrorAction::kDeadLetter));
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kTaken);
  EXPECT_EQ(TopicsOf(sink_), Topics{"dead"});
}

TEST_F(PipelineDecisionTest, P1ARowThatWasNotMappedHasNoDeadLetter) {
  Event event;
  event.position = At(100, 1);
  const absl::Status unsuitable = WithReasonCode(
      absl::InvalidArgumentError("no column"), kReasonTableUnsuitable);
  EXPECT_EQ(pipeline_.OnUndeliverable(event, unsuitable), Offer::kHold);
  EXPECT_FALSE(pipeline_.Decide(At(100, 1), ErrorAction::kDeadLetter));
  EXPECT_TRUE(pipeline_.stoppage());
  EXPECT_TRUE(pipeline_.Decide(At(100, 1), ErrorAction::kSkip));
}

TEST_F(PipelineDecisionTest, IsForThatEventAlone) {
  EXPECT_FALSE(pipeline_.Decide(At(100, 1), ErrorAction::kSkip));
  OfferEvent(At(100, 1), "a b");
  EXPECT_FALSE(pipeline_.Decide(At(100, 2), ErrorAction::kSkip));
  EXPECT_TRUE(pipeline_.stoppage());
  EXPECT_TRUE(pipeline_.Decide(At(100, 1), ErrorAction::kSkip));
  OfferEvent(At(100, 1), "a b");
  EXPECT_EQ(OfferEvent(At(100, 2), "a b"), Offer::kHold);
  ASSERT_TRUE(pipeline_.stoppage());
  EXPECT_EQ(pipeline_.stoppage()->position, At(100, 2));
}

TEST_F(PipelineDecisionTest, HoldsAfterTheSinkWasLost) {
  OfferEvent(At(100, 1), "a b");
  pipeline_.Decide(At(100, 1), ErrorAction::kDeadLetter);
  OfferEvent(At(100, 1), "a b");
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kTaken);
  EXPECT_EQ(TopicsOf(second), Topics{"dead"});
}

// Otherwise the flow would seem to go on each time that it is read again.
TEST_F(PipelineDecisionTest, IsObeyedOnceIfItIsOfNoUse) {
  sink_.AnswerWith(TooLarge());
  OfferEvent(At(100, 1), "a b");
  EXPECT_TRUE(pipeline_.Decide(At(100, 1), ErrorAction::kDeadLetter));
  OfferEvent(At(100, 1), "a b");
  ASSERT_TRUE(pipeline_.stoppage());
  EXPECT_FALSE(pipeline_.Decide(At(100, 1), ErrorAction::kDeadLetter));
  EXPECT_TRUE(pipeline_.stoppage());
  EXPECT_TRUE(pipeline_.Decide(At(100, 1), ErrorAction::kSkip));
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kTaken);
}

TEST_F(PipelineDecisionTest, IsVoidAfterAFork) {
  OfferEvent(At(100, 1), "a b");
  pipeline_.Decide(At(100, 1), ErrorAction::kSkip);
  pipeline_.StartOver();
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kHold);
  EXPECT_TRUE(pipeline_.stoppage());
}

TEST_F(PipelineDecisionTest, AnUnmappedEventMayBeSkipped) {
  Choose(kReasonColumnUnreadable, ErrorAction::kStop);
  OfferUnmapped(At(100, 1));
  pipeline_.Decide(At(100, 1), ErrorAction::kSkip);
  EXPECT_EQ(OfferUnmapped(At(100, 1)), Offer::kTaken);
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kTaken);
}

TEST_F(PipelineDecisionTest, AnErrorOfNoClassMayBeSetAsideByHand) {
  Event event;
  event.position = At(100, 1);
  const absl::Status reason =
      WithReasonCode(absl::FailedPreconditionError("a column is missing"),
                     kReasonTableUnsuitable);
  pipeline_.OnUndeliverable(event, reason);
  pipeline_.Decide(At(100, 1), ErrorAction::kSkip);
  EXPECT_EQ(pipeline_.OnUndeliverable(event, reason), Offer::kTaken);
  EXPECT_EQ(pipeline_.counters().skipped[kOtherErrors], 1u);
}

TEST_F(PipelineDecisionTest, ARejectedDeadLetterMayBeSkipped) {
  Choose(kReasonTopicIllegal, ErrorAction::kDeadLetter);
  OfferEvent(At(100, 1), "a b");
  pipeline_.OnNotDelivered(0, TooLarge());
  MemorySink second;
  ReplaceSink(second);
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kHold);
  EXPECT_TRUE(pipeline_.Decide(At(100, 1), ErrorAction::kSkip));
  EXPECT_EQ(OfferEvent(At(100, 1), "a b"), Offer::kTaken);
  EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kTaken);
}

// ---- A sink with transactions.

class PipelineCommitsTest : public PipelineSetAsideTest {
 protected:
  PipelineCommitsTest() { pipeline_.AwaitCommits(); }

  // The brokers reject both events of a transaction, one after the other; each
  // time it is given up.
  void RejectBoth(MemorySink& third) {
    MemorySink second;
    GiveUpAt(1, sink_, second);
    GiveUpAt(2, second, third);
    EXPECT_EQ(OfferEvent(At(100, 1)), Offer::kTaken);
    EXPECT_EQ(OfferEvent(At(100, 2)), Offer::kTaken);
    pipeline_.OnTransactionEnd(Lsn(110));
  }

 private:
  // The event of this ordinal is the last one that `sink` takes.
  void GiveUpAt(uint64_t ordinal, MemorySink& sink, MemorySink& next) {
    for (uint64_t i = 1; i < ordinal; ++i) {
      EXPECT_EQ(OfferEvent(At(100, i)), Offer::kTaken);
      AcknowledgeAll(sink);
    }
    OfferEvent(At(100, ordinal));
    pipeline_.OnNotDelivered(sink.accepted().back().sequence, TooLarge());
    pipeline_.SetSink(nullptr);
    pipeline_.RewindToCheckpoint();
    pipeline_.SetSink(&next);
  }
};

TEST_F(PipelineCommitsTest, TwoSkippedEventsAreRememberedUntilTheCommit) {
  Choose(kReasonRecordTooLarge, ErrorAction::kSkip);
  MemorySink third;
  RejectBoth(third);
  EXPECT_TRUE(third.accepted().empty());
  const DeliveryCounters& counters = pipeline_.counters();
  EXPECT_EQ(Count(counters.skipped, kReasonRecordTooLarge), 0u);
  pipeline_.OnCommitted(WallTime());
  EXPECT_EQ(Count(counters.skipped, kReasonRecordTooLarge), 2u);
  EXPECT_EQ(pipeline_.confirmed(), Lsn(110));
}

TEST_F(PipelineCommitsTest, TwoDeadLettersAreRememberedUntilTheCommit) {
  MemorySink third;
  RejectBoth(third);
  EXPECT_EQ(TopicsOf(third), (Topics{"dead", "dead"}));
  AcknowledgeAll(third);
  const DeliveryCounters& counters = pipeline_.counters();
  EXPECT_EQ(Count(counters.dead_letters, kReasonRecordTooLarge), 0u);
  pipeline_.OnCommitted(WallTime());
  EXPECT_EQ(Count(counters.dead_letters, kReasonRecordTooLarge), 2u);
}

}  // namespace
}  // namespace walpost
