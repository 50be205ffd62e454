// Sender: events that are parked, and those that follow them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "support/fake_parking.h"
#include "support/sender_fixture.h"

namespace walpost {
namespace {

using testing::FakeParking;
using testing::MemorySink;
using testing::SenderFixture;

class SenderParkingTest : public SenderFixture {
 protected:
  SenderParkingTest() {
    sender_.SetParking(&parking_);
    ErrorActions actions;
    actions.Set(FindErrorClass(kReasonTopicIllegal), ErrorAction::kPark);
    actions.Set(FindErrorClass(kReasonRecordTooLarge), ErrorAction::kPark);
    sender_.SetErrorActions(actions, [this](const DivertedEvent& event) {
      diverted_event_.push_back(event.action);
    });
  }

  FakeParking parking_;
  std::vector<ErrorAction> diverted_event_;
};

TEST_F(SenderParkingTest, P2NothingIsConfirmedBeforeAParkedEventIsStored) {
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_FALSE(progress_.confirmed().is_valid());
  sender_.OnAcknowledged(parking_.sequences.at(0), WallTime());
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
  EXPECT_EQ(DeliveryCounters::Sum(sender_.counters().parked), 1u);
  EXPECT_EQ(sender_.counters().acknowledged, 0u);
  EXPECT_EQ(diverted_event_, std::vector<ErrorAction>{ErrorAction::kPark});
}

TEST_F(SenderParkingTest, AnEventThatFollowsIsParkedUnheard) {
  parking_.claim = Parking::Claim::kFollows;
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  EXPECT_TRUE(sink_.accepted().empty());
  EXPECT_EQ(parking_.dead, std::vector<bool>{false});
  EXPECT_TRUE(diverted_event_.empty());
  sender_.OnAcknowledged(parking_.sequences.at(0), WallTime());
  EXPECT_EQ(sender_.counters().parked_behind, 1u);
}

TEST_F(SenderParkingTest, AnEventOfAKeyThatIsBeingReleasedWaits) {
  parking_.claim = Parking::Claim::kWaits;
  EXPECT_EQ(OfferEvent(At(100)), Offer::kBackpressure);
  EXPECT_FALSE(progress_.CanTake());
  sender_.OnCapacity();
  parking_.claim = Parking::Claim::kFree;
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  EXPECT_EQ(sender_.counters().events, 1u);
}

TEST_F(SenderParkingTest, ADiscardedEventIsLeftOut) {
  parking_.claim = Parking::Claim::kSettled;
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_TRUE(sink_.accepted().empty());
  EXPECT_TRUE(parking_.positions.empty());
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
}

TEST_F(SenderParkingTest, AReleasedEventThatFailsAgainIsLeftOut) {
  parking_.was_released = true;
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(110));
  EXPECT_TRUE(parking_.positions.empty());
  EXPECT_EQ(progress_.confirmed(), Lsn(110));
}

TEST_F(SenderParkingTest, TheFlowStopsBeforeAnEventThatCannotBeParked) {
  parking_.may_park = absl::InvalidArgumentError("no key");
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_NE(sender_.stoppage()->reason.message().find("no key"),
            std::string::npos);
  EXPECT_EQ(ReasonCodeOf(sender_.stoppage()->reason), kReasonTopicIllegal);
}

TEST_F(SenderParkingTest, TheFlowGoesOnWhenThereIsRoomForAnotherKey) {
  parking_.may_park = absl::InvalidArgumentError("too many keys");
  OfferEvent(At(100), "a b");
  parking_.may_park = absl::OkStatus();
  sender_.OnParkingCapacity();
  EXPECT_FALSE(sender_.stoppage());
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
}

TEST_F(SenderParkingTest, RoomForAnotherKeyIsNoReasonToPassAnotherEvent) {
  sender_.SetErrorActions(ErrorActions(), nullptr);
  OfferEvent(At(100), "a b");
  sender_.OnParkingCapacity();
  EXPECT_TRUE(sender_.stoppage());
}

TEST_F(SenderParkingTest, WithoutAPlaceTheFlowStops) {
  sender_.SetParking(nullptr);
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kBackpressure);
  EXPECT_TRUE(sender_.stoppage());
}

TEST_F(SenderParkingTest, ARejectedRecordIsParkedWhenItIsReadAgain) {
  OfferEvent(At(100));
  sender_.OnNotDelivered(0, TooLarge());
  MemorySink second;
  sender_.SetSink(nullptr);
  sender_.Rewind();
  sender_.SetSink(&second);
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(101)), Offer::kAccepted);
  EXPECT_EQ(parking_.positions, std::vector<Position>{At(100)});
  EXPECT_EQ(second.accepted().size(), 1u);
  // Before it is stored, the stream starts over again.
  sender_.SetSink(nullptr);
  sender_.Rewind();
  MemorySink third;
  sender_.SetSink(&third);
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  EXPECT_TRUE(third.accepted().empty());
  EXPECT_EQ(parking_.positions.size(), 2u);
}

TEST_F(SenderParkingTest, NothingIsSettledBeyondAnEventInFlight) {
  OfferEvent(At(100, 1));
  OfferEvent(At(100, 2));
  progress_.OnTransactionEnd(Lsn(110));
  sender_.OnAcknowledged(1, WallTime());
  EXPECT_LT(progress_.settled_through(), At(100, 1));
  sender_.OnAcknowledged(0, WallTime());
  EXPECT_GE(progress_.settled_through(), At(100, 2));
}

// ---- Isolation.

TEST_F(SenderParkingTest, AnOperatorMaySkipAnEventForWhichThereIsNoRoom) {
  parking_.claim = Parking::Claim::kFull;
  parking_.may_park = absl::InvalidArgumentError("its topic is isolated");
  OfferEvent(At(10));
  EXPECT_TRUE(sender_.Decide(At(10), ErrorAction::kSkip));
  EXPECT_EQ(OfferEvent(At(10)), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(At(20)), Offer::kBackpressure)
      << "it was about one event";
}

TEST_F(SenderParkingTest, StandsAtTheOldestRecordInFlight) {
  EXPECT_EQ(sender_.standing_at(), std::nullopt);
  OfferEvent(At(10));
  OfferEvent(At(20));
  EXPECT_EQ(sender_.standing_at(), At(10));
  sender_.OnAcknowledged(0, WallTime());
  EXPECT_EQ(sender_.standing_at(), At(20));
  sender_.OnAcknowledged(1, WallTime());
  EXPECT_EQ(sender_.standing_at(), std::nullopt);
}

TEST_F(SenderParkingTest, StandsAtAnEventThatTheSinkDoesNotTake) {
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  EXPECT_EQ(OfferEvent(At(10)), Offer::kBackpressure);
  EXPECT_EQ(sender_.standing_at(), At(10));
  sink_.AnswerWith(absl::ResourceExhaustedError("full"));
  sender_.RetryHeld();
  EXPECT_EQ(OfferEvent(At(10)), Offer::kBackpressure);
  EXPECT_EQ(sender_.standing_at(), std::nullopt);
}

TEST_F(SenderParkingTest, StandsAtItWhileTheFlowComesBackToIt) {
  OfferEvent(At(10));
  OfferEvent(At(20));
  sender_.OnAcknowledged(0, WallTime());
  sender_.OnSinkFailed(absl::AbortedError("no right to write"));
  sender_.Rewind();
  EXPECT_EQ(sender_.standing_at(), At(20));
  sender_.Rewind();
  EXPECT_EQ(sender_.standing_at(), At(20)) << "and from there";
  OfferEvent(At(20));
  sender_.OnAcknowledged(2, WallTime());
  EXPECT_EQ(sender_.standing_at(), std::nullopt);
}

TEST_F(SenderParkingTest, DoesNotStandAtAParkedEvent) {
  EXPECT_EQ(OfferEvent(At(10), "a b"), Offer::kAccepted);
  EXPECT_EQ(sender_.standing_at(), std::nullopt);
}

TEST_F(SenderParkingTest, IsolationOfAHeldEventNeedsNoOtherSink) {
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  OfferEvent(At(10));
  sender_.Isolate(At(10));
  EXPECT_FALSE(sender_.sink_failure());
  EXPECT_EQ(OfferEvent(At(10)), Offer::kAccepted);
  EXPECT_THAT(parking_.isolated, ::testing::ElementsAre(At(10)));
  EXPECT_THAT(parking_.positions, ::testing::ElementsAre(At(10)));
}

TEST_F(SenderParkingTest, IsolationOfARecordInFlightReplacesTheSink) {
  OfferEvent(At(10));
  OfferEvent(At(20));
  sender_.OnAcknowledged(1, WallTime());
  sender_.Isolate(At(10));
  EXPECT_TRUE(sender_.sink_failure());
  sender_.Rewind();
  EXPECT_EQ(OfferEvent(At(10)), Offer::kAccepted);
  EXPECT_THAT(parking_.isolated, ::testing::ElementsAre(At(10)));
  EXPECT_EQ(OfferEvent(At(20)), Offer::kAccepted);
  EXPECT_THAT(parking_.positions, ::testing::ElementsAre(At(10)))
      << "the other one was acknowledged";
}

TEST_F(SenderParkingTest, NoOtherEventIsIsolatedInItsPlace) {
  OfferEvent(At(10));
  sender_.Isolate(At(10));
  sender_.Rewind();
  OfferEvent(At(30));
  EXPECT_TRUE(parking_.isolated.empty());
}

TEST_F(SenderParkingTest, WhatCannotBeMappedDoesNotWaitForItsTopic) {
  parking_.claim = Parking::Claim::kIsolated;
  const std::vector<Value> references = {"order"};
  Event event;
  event.position = At(10);
  event.references = references;
  const absl::Status error = Undeliverable(kReasonColumnUnreadable, "unread");
  EXPECT_EQ(progress_.OnEvent(event, error), Offer::kBackpressure);
  EXPECT_TRUE(sender_.stoppage());
  EXPECT_TRUE(parking_.positions.empty());
}

TEST_F(SenderParkingTest, StopsBeforeAnEventForWhichThereIsNoRoom) {
  parking_.claim = Parking::Claim::kFull;
  parking_.may_park = absl::InvalidArgumentError("its topic is isolated");
  EXPECT_EQ(OfferEvent(At(10)), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_EQ(sender_.stoppage()->position, At(10));
  parking_.claim = Parking::Claim::kFree;
  sender_.OnParkingCapacity();
  EXPECT_EQ(OfferEvent(At(10)), Offer::kAccepted);
}

}  // namespace
}  // namespace walpost
