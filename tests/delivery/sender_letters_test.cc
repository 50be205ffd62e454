// Sender: dead letters that are stored in the place of parked events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "support/fake_parking.h"
#include "support/sender_fixture.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using testing::FakeParking;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemorySink;
using testing::SenderFixture;

class SenderLettersTest : public SenderFixture {
 protected:
  SenderLettersTest() : SenderFixture(InPostgres()) {
    parking_.keeps_letters = true;
    sender_.SetParking(&parking_);
    ErrorActions actions;
    actions.Set(FindErrorClass(kReasonTopicIllegal), ErrorAction::kDeadLetter);
    actions.Set(FindErrorClass(kReasonRecordTooLarge),
                ErrorAction::kDeadLetter);
    sender_.SetErrorActions(actions, [this](const DivertedEvent& event) {
      diverted_event_.push_back(event.action);
    });
  }

  ~SenderLettersTest() override { EXPECT_THAT(parking_.positions, IsEmpty()); }

  static OutboxOptions InPostgres() {
    OutboxOptions options;
    options.dead_letter.store = DeadLetterOptions::Store::kPostgres;
    return options;
  }

  uint64_t CountedLetters() const {
    return DeliveryCounters::Sum(sender_.counters().dead_letters);
  }

  FakeParking parking_;
  std::vector<ErrorAction> diverted_event_;
};

TEST_F(SenderLettersTest, P2NothingIsConfirmedBeforeALetterIsStored) {
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
  progress_.OnTransactionEnd(Lsn(150));
  EXPECT_EQ(progress_.confirmed(), Lsn(0));
  EXPECT_TRUE(sink_.accepted().empty());
  EXPECT_THAT(parking_.letters, ElementsAre(At(100)));
  sender_.OnAcknowledged(parking_.sequences.at(0), WallTime());
  EXPECT_EQ(progress_.confirmed(), Lsn(150));
  EXPECT_THAT(diverted_event_, ElementsAre(ErrorAction::kDeadLetter));
}

TEST_F(SenderLettersTest, ALetterCountsAsALetterAndNotAsARecord) {
  OfferEvent(At(100), "a b");
  sender_.OnAcknowledged(parking_.sequences.at(0), WallTime());
  const DeliveryCounters& counters = sender_.counters();
  EXPECT_EQ(DeliveryCounters::Sum(counters.dead_letters), 1u);
  EXPECT_EQ(DeliveryCounters::Sum(counters.parked), 0u);
  EXPECT_EQ(counters.acknowledged, 0u);
  EXPECT_EQ(counters.produced, 0u);
}

// It is stored after its window was given up, or the answer came too late.
TEST_F(SenderLettersTest, P8ALetterWithoutAReportCountsWhenItIsSeenAgain) {
  OfferEvent(At(100), "a b");
  sender_.Rewind();
  sender_.OnAcknowledged(parking_.sequences.at(0), WallTime());
  EXPECT_EQ(CountedLetters(), 0u);
  parking_.claim = Parking::Claim::kSettled;
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
  EXPECT_EQ(CountedLetters(), 1u);
  sender_.Rewind();
  OfferEvent(At(100), "a b");
  EXPECT_EQ(CountedLetters(), 1u);
}

// The stream begins again, first with it in flight, then without.
TEST_F(SenderLettersTest, P8ALetterInFlightCountsAfterTwoStreams) {
  OfferEvent(At(100), "a b");
  progress_.BeginStream(Lsn(50));
  sender_.Rewind();
  progress_.BeginStream(Lsn(50));
  parking_.claim = Parking::Claim::kSettled;
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
  EXPECT_EQ(CountedLetters(), 1u);
}

TEST_F(SenderLettersTest, P8ALetterThatIsStoredAgainCountsOnce) {
  OfferEvent(At(100), "a b");
  sender_.Rewind();
  OfferEvent(At(100), "a b");
  sender_.OnAcknowledged(parking_.sequences.at(1), WallTime());
  EXPECT_EQ(CountedLetters(), 1u);
}

TEST_F(SenderLettersTest, P8ALetterBehindTheCheckpointCountsOnce) {
  OfferEvent(At(100), "a b");
  sender_.OnAcknowledged(parking_.sequences.at(0), WallTime());
  progress_.RewindToCheckpoint();
  progress_.Resume(Lsn(50), {At(50)});
  parking_.claim = Parking::Claim::kSettled;
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
  EXPECT_EQ(CountedLetters(), 1u);
}

TEST_F(SenderLettersTest, P8ALetterOfAnotherInstanceDoesNotCount) {
  OfferEvent(At(100), "a b");
  sender_.Rewind();
  progress_.Resume(Lsn(150), {At(150)});
  progress_.BeginStream(Lsn(150));
  parking_.claim = Parking::Claim::kSettled;
  OfferEvent(At(100), "a b");
  OfferEvent(At(200), "a b");
  EXPECT_EQ(CountedLetters(), 0u);
}

TEST_F(SenderLettersTest, LaterEventsOfTheKeyGoOn) {
  OfferEvent(At(100), "a b");
  EXPECT_EQ(OfferEvent(At(200)), Offer::kAccepted);
  EXPECT_EQ(sink_.accepted().size(), 1u);
}

TEST_F(SenderLettersTest, AnEventWhoseLetterIsStoredIsLeftOut) {
  parking_.claim = Parking::Claim::kSettled;
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  EXPECT_TRUE(sink_.accepted().empty());
  EXPECT_TRUE(parking_.letters.empty());
}

TEST_F(SenderLettersTest, ARejectedRecordHasALetterWhenItIsReadAgain) {
  OfferEvent(At(100));
  sender_.OnNotDelivered(0, Undeliverable(kReasonRecordTooLarge, "too large"));
  ASSERT_TRUE(sender_.refused());
  EXPECT_FALSE(sender_.refused()->is_of_dead_letter);
  sender_.Rewind();
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  EXPECT_THAT(parking_.letters, ElementsAre(At(100)));
  EXPECT_FALSE(sender_.refused());
  // The stream begins again before it is stored.
  sender_.Rewind();
  EXPECT_EQ(OfferEvent(At(100)), Offer::kAccepted);
  EXPECT_THAT(parking_.letters, ElementsAre(At(100), At(100)));
  EXPECT_EQ(sink_.accepted().size(), 1u) << "it is not sent again";
}

TEST_F(SenderLettersTest, AnOperatorsDecisionStoresItsLetter) {
  sender_.SetErrorActions(ErrorActions(), nullptr);
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kBackpressure);
  EXPECT_TRUE(sender_.Decide(At(100), ErrorAction::kDeadLetter));
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kAccepted);
  EXPECT_THAT(parking_.letters, ElementsAre(At(100)));
}

TEST_F(SenderLettersTest, WithoutAPlaceTheFlowStops) {
  sender_.SetParking(nullptr);
  EXPECT_EQ(OfferEvent(At(100), "a b"), Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage());
  EXPECT_THAT(std::string(sender_.stoppage()->reason.message()),
              HasSubstr("which only the stream of walpost run writes"));
  EXPECT_TRUE(sink_.accepted().empty());
}

TEST_F(SenderLettersTest, ALetterInFlightIsNotAStandingRecord) {
  OfferEvent(At(100), "a b");
  OfferEvent(At(200));
  EXPECT_EQ(sender_.standing_at(), std::nullopt);
}

}  // namespace
}  // namespace walpost
