// Sender: records that go alone, after a rejection.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "support/sender_fixture.h"

namespace walpost {
namespace {

using testing::MemorySink;
using testing::SenderFixture;
using After = RecordSink::AfterRejection;
using Values = std::vector<std::string>;

class SenderTrialTest : public SenderFixture {
 protected:
  SenderTrialTest() : SenderFixture(ToTopic()) {
    Choose(ErrorAction::kSkip);
    sender_.TryAlone([this] { ++withdrawn_; });
    sink_.SetAfterRejection(After::kGoesOnAlone);
  }

  static OutboxOptions ToTopic() {
    OutboxOptions options;
    options.dead_letter.topic = "dead";
    return options;
  }

  void Choose(ErrorAction action) {
    ErrorActions actions;
    actions.Set(FindErrorClass(kReasonRecordTooLarge), action);
    sender_.SetErrorActions(actions, nullptr);
  }

  Offer OfferEvent(Position position, const std::string& value) {
    return SenderFixture::OfferEvent(position, "order", value, value);
  }

  Sequence newest() const { return sink_.accepted().back().sequence; }
  void Acknowledge() { sender_.OnAcknowledged(newest(), WallTime()); }
  void Reject() { sender_.OnNotDelivered(newest(), TooLarge()); }

  int withdrawn_ = 0;
};

TEST_F(SenderTrialTest, AnEventIsHeldUntilTheBrokersHaveDecided) {
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  EXPECT_FALSE(progress_.CanTake()) << "the next one would be company";
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  EXPECT_EQ(sink_.offered(), 1u);
  Acknowledge();
  EXPECT_TRUE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(sink_.offered(), 1u) << "it is not sent again";
  EXPECT_EQ(sender_.counters().events, 1u);
  EXPECT_EQ(sender_.counters().repeats, 0u);
  EXPECT_EQ(progress_.acknowledged_through(), At(100, 1));
}

TEST_F(SenderTrialTest, P8ARejectedRecordCostsNoSink) {
  for (uint64_t ordinal = 1; ordinal <= 50; ++ordinal) {
    ASSERT_EQ(OfferEvent(At(100, ordinal), "wide"), Offer::kBackpressure);
    Reject();
    ASSERT_FALSE(sender_.sink_failure().has_value());
    ASSERT_EQ(OfferEvent(At(100, ordinal), "wide"), Offer::kAccepted);
  }
  EXPECT_EQ(sink_.withdrawn(), 50u);
  EXPECT_EQ(withdrawn_, 50);
  EXPECT_EQ(sender_.rejections(), 50u);
  EXPECT_EQ(progress_.acknowledged_through(), At(100, 50));
  EXPECT_TRUE(sender_.window().empty());
  progress_.OnTransactionEnd(Lsn(108));
  EXPECT_EQ(progress_.confirmed(), Lsn(108));
}

TEST_F(SenderTrialTest, P8ARejectedRecordStopsTheFlowIfItIsToStop) {
  Choose(ErrorAction::kStop);
  OfferEvent(At(100, 1), "wide");
  Reject();
  EXPECT_EQ(OfferEvent(At(100, 1), "wide"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_EQ(sender_.stoppage()->position, At(100, 1));
  EXPECT_FALSE(progress_.CanTake());
  EXPECT_TRUE(sender_.Decide(At(100, 1), ErrorAction::kSkip));
  EXPECT_EQ(OfferEvent(At(100, 1), "wide"), Offer::kAccepted);
}

TEST_F(SenderTrialTest, P8ADeadLetterGoesAloneToo) {
  Choose(ErrorAction::kDeadLetter);
  OfferEvent(At(100, 1), "wide");
  Reject();
  EXPECT_EQ(OfferEvent(At(100, 1), "wide"), Offer::kBackpressure);
  EXPECT_EQ(sink_.accepted().back().topic, "dead");
  Acknowledge();
  EXPECT_EQ(OfferEvent(At(100, 1), "wide"), Offer::kAccepted);
  EXPECT_EQ(
      sender_.counters().dead_letters[FindErrorClass(kReasonRecordTooLarge)],
      1u);
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kBackpressure);
  EXPECT_EQ(sink_.accepted().back().value, "b");
}

TEST_F(SenderTrialTest, P8ADeadLetterThatIsRejectedStopsTheFlow) {
  Choose(ErrorAction::kDeadLetter);
  OfferEvent(At(100, 1), "wide");
  Reject();
  OfferEvent(At(100, 1), "wide");
  Reject();
  EXPECT_EQ(OfferEvent(At(100, 1), "wide"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_TRUE(sender_.stoppage()->is_of_dead_letter);
}

// Another instance has dealt with it.
TEST_F(SenderTrialTest, P1ARejectionOfALostStreamDoesNotStopTheNext) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100, 1), "wide");
  Reject();
  progress_.BeginStream(Lsn(150));
  EXPECT_EQ(OfferEvent(At(160, 1), "a"), Offer::kBackpressure);
  Acknowledge();
  EXPECT_EQ(OfferEvent(At(160, 1), "a"), Offer::kAccepted);
}

// The stream was lost meanwhile: who offers the event again is not known.
TEST_F(SenderTrialTest, ARecordWhoseEventIsNotHeldIsNotWithdrawn) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100, 1), "wide");
  progress_.BeginStream(Lsn(50));
  Reject();
  EXPECT_TRUE(sender_.sink_failure().has_value());
  EXPECT_EQ(sink_.withdrawn(), 0u);
}

TEST_F(SenderTrialTest, P9AHeldEventProvesTheHistoryOfTheNextStream) {
  progress_.BeginStream(Lsn(50));
  OfferEvent(At(100, 1), "a");
  Acknowledge();
  progress_.BeginStream(Lsn(50));
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(108));
  EXPECT_EQ(OfferEvent(At(120, 1), "b"), Offer::kBackpressure);
  EXPECT_TRUE(progress_.Health().ok());
}

TEST_F(SenderTrialTest, AnyOtherErrorReplacesTheSink) {
  OfferEvent(At(100, 1), "a");
  sender_.OnNotDelivered(newest(), absl::AbortedError("a broker is lost"));
  EXPECT_TRUE(absl::IsAborted(*sender_.sink_failure()));
  sender_.Rewind();
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  EXPECT_EQ(sink_.Values(), (Values{"a", "a"}));
}

TEST_F(SenderTrialTest, ARejectionAsksForASinkForLoneRecords) {
  sink_.SetAfterRejection(After::kFails);
  EXPECT_FALSE(sender_.is_careful());
  OfferEvent(At(100, 1), "a");
  OfferEvent(At(100, 2), "wide");
  sender_.OnSinkFailed(absl::AbortedError("gapless"));
  Reject();
  EXPECT_TRUE(sender_.is_careful());
  EXPECT_TRUE(absl::IsInvalidArgument(*sender_.sink_failure()))
      << "the cause, and not what came of it";
}

TEST_F(SenderTrialTest, BatchesGoAgainAfterAWhile) {
  for (uint64_t n = 1; n < Sender::kMinAcceptedAlone; ++n) {
    OfferEvent(At(100, n), "a");
    Acknowledge();
    OfferEvent(At(100, n), "a");
    ASSERT_FALSE(sender_.sink_failure().has_value());
  }
  OfferEvent(At(100, Sender::kMinAcceptedAlone), "a");
  Acknowledge();
  ASSERT_TRUE(sender_.sink_failure().has_value());
  EXPECT_TRUE(absl::IsCancelled(*sender_.sink_failure()));
  EXPECT_FALSE(sender_.is_careful());
}

TEST_F(SenderTrialTest, ARejectionPutsBatchesOff) {
  for (uint64_t n = 1; n < 2 * Sender::kMinAcceptedAlone; ++n) {
    OfferEvent(At(100, n), "a");
    if (n % 40 == 0) {
      Reject();
    } else {
      Acknowledge();
    }
    OfferEvent(At(100, n), "a");
    ASSERT_FALSE(sender_.sink_failure().has_value()) << n;
  }
}

// ---- In transactions: a rejection gives up all that is in one.

class SenderTrialInTransactionsTest : public SenderTrialTest {
 protected:
  SenderTrialInTransactionsTest() {
    sink_.SetAfterRejection(After::kGoesOn);
    sender_.AwaitCommits();
  }
  // A record was rejected in company.
  void BeCareful() {
    OfferEvent(At(50, 1), "x");
    Reject();
    ASSERT_TRUE(sender_.is_careful());
    progress_.RewindToCheckpoint();
    Choose(ErrorAction::kSkip);
    progress_.Resume(Lsn(60), {At(50, 1)});
    progress_.BeginStream(Lsn(60));
  }
};

TEST_F(SenderTrialInTransactionsTest, ManyGoTogetherWhileNoneIsRejected) {
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "b"), Offer::kAccepted);
  Reject();
  EXPECT_TRUE(sender_.sink_failure().has_value()) << "both are void";
  EXPECT_EQ(sink_.withdrawn(), 0u);
}

TEST_F(SenderTrialInTransactionsTest, P1ARecordIsCommittedBeforeTheNextTrial) {
  BeCareful();
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  Acknowledge();
  EXPECT_FALSE(progress_.CanTake()) << "a rejection would make it void";
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  sender_.OnCommitted(WallTime());
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "wide"), Offer::kBackpressure);
  Reject();
  EXPECT_FALSE(sender_.sink_failure().has_value());
  EXPECT_EQ(sink_.withdrawn(), 1u);
  EXPECT_EQ(OfferEvent(At(100, 2), "wide"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 3), "wide"), Offer::kBackpressure)
      << "nothing is in the transaction";
  EXPECT_EQ(sink_.accepted().size(), 4u);
}

TEST_F(SenderTrialInTransactionsTest, ARecordThatWasNotWrittenGoesAgain) {
  BeCareful();
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  sender_.OnNotDelivered(newest(), absl::ResourceExhaustedError("again"));
  EXPECT_FALSE(sender_.sink_failure().has_value());
  EXPECT_EQ(sink_.withdrawn(), 0u) << "the sink has done that already";
  EXPECT_EQ(withdrawn_, 1);
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  Acknowledge();
  sender_.OnCommitted(WallTime());
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(sink_.Values(), (Values{"x", "a", "a"}));
}

// Its earlier events cannot be committed before the others.
TEST_F(SenderTrialInTransactionsTest, P1AWholeTransactionIsGivenUp) {
  sender_.AwaitCommits(Sender::Boundary::kSource);
  BeCareful();
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kBackpressure);
  Acknowledge();
  EXPECT_TRUE(progress_.CanTake());
  EXPECT_EQ(OfferEvent(At(100, 1), "a"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(100, 2), "wide"), Offer::kBackpressure);
  Reject();
  EXPECT_TRUE(sender_.sink_failure().has_value());
  EXPECT_EQ(sink_.withdrawn(), 0u);
}

TEST_F(SenderTrialInTransactionsTest, P1AWholeTransactionEndsBeforeATrial) {
  sender_.AwaitCommits(Sender::Boundary::kSource);
  BeCareful();
  OfferEvent(At(100, 1), "a");
  Acknowledge();
  OfferEvent(At(100, 1), "a");
  progress_.OnTransactionEnd(Lsn(108));
  EXPECT_FALSE(progress_.CanTake());
  sender_.OnCommitted(WallTime());
  EXPECT_TRUE(progress_.CanTake());
}

}  // namespace
}  // namespace walpost
