#include "polling/polling_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Sent = PollingSender::Sent;

constexpr MonotonicTime kNow{std::chrono::hours(1)};

class PollingSenderTest : public ::testing::Test {
 protected:
  PollingSenderTest() {
    OutboxOptions options;
    options.tables.emplace_back();
    options.route.topic = std::string("t");
    options.route.position_header = false;
    auto builder = RecordBuilder::Create(options);
    EXPECT_TRUE(builder.ok());
    AcknowledgementWindow::Options limits;
    limits.max_records = 3;
    polling_sender_ =
        std::make_unique<PollingSender>(*std::move(builder), limits);
    polling_sender_->SetSink(&sink_);
    polling_sender_->SetOnFailure([this] { ++failures_; });
  }

  Sent Send(const std::string& id, RowsInFlight& flight,
            const absl::Status& mapped = absl::OkStatus(),
            MonotonicTime now = kNow) {
    Event event;
    event.id = id;
    event.payload = id;
    return polling_sender_->Send(event, mapped, {id, 0, now}, flight);
  }
  // As a broker does that refuses a batch.
  void RefuseAll() {
    for (const auto& record : sink_.accepted()) {
      polling_sender_->OnNotDelivered(record.sequence,
                                      absl::InvalidArgumentError("too large"));
    }
  }
  static std::vector<std::string> Ids(
      const std::vector<RowsInFlight::Row>& rows) {
    std::vector<std::string> ids;
    for (const RowsInFlight::Row& row : rows) ids.push_back(row.id);
    return ids;
  }

  testing::MemorySink sink_;
  std::unique_ptr<PollingSender> polling_sender_;
  RowsInFlight flight_;
  RowsInFlight other_;
  int failures_ = 0;
};

TEST_F(PollingSenderTest, AReportReachesThePollerWhoseRowItWas) {
  EXPECT_EQ(Send("a", flight_), Sent::kSent);
  EXPECT_EQ(Send("b", other_), Sent::kSent);
  EXPECT_THAT(flight_.Ids(), ElementsAre("a"));
  polling_sender_->OnAcknowledged(sink_.accepted()[1].sequence, WallNow());
  EXPECT_EQ(flight_.finished(), 0u);
  EXPECT_THAT(Ids(other_.TakeFinished().acknowledged), ElementsAre("b"));
  EXPECT_EQ(polling_sender_->in_flight_records(), 1u);
}

TEST_F(PollingSenderTest, LatenciesCountForTableAndTopic) {
  Send("a", flight_);
  Send("b", flight_);
  polling_sender_->OnAcknowledged(sink_.accepted()[1].sequence,
                                  WallTime(std::chrono::milliseconds(7)));
  const DeliveryLatencies& latencies = polling_sender_->latencies();
  EXPECT_EQ(latencies.all().count(), 1u);
  for (const NamedLatencies* named :
       {&latencies.by_table(), &latencies.by_topic()}) {
    std::vector<uint64_t> counts;
    named->ForEach(
        [&counts](std::string_view, const NamedLatencies::Latencies& some) {
          counts.push_back(some.count());
          EXPECT_EQ(some.sum, std::chrono::milliseconds(7));
        });
    EXPECT_THAT(counts, ElementsAre(1));
  }
}

TEST_F(PollingSenderTest, ARowThatCannotBeDeliveredIsRefusedAndOthersAreNot) {
  EXPECT_EQ(Send("a", flight_, absl::InvalidArgumentError("why")),
            Sent::kRefused);
  EXPECT_EQ(Send("b", flight_), Sent::kSent);
  polling_sender_->OnNotDelivered(sink_.accepted()[0].sequence,
                                  absl::InvalidArgumentError("too large"));
  const RowsInFlight::Finished finished = flight_.TakeFinished();
  ASSERT_EQ(finished.refused.size(), 2u);
  EXPECT_EQ(finished.refused[0].row.id, "a");
  EXPECT_EQ(finished.refused[1].reason.message(), "too large");
  EXPECT_EQ(failures_, 0);
}

TEST_F(PollingSenderTest, OfABatchThatIsRefusedOnlyTheRowThatIsRefusedAloneIs) {
  Send("a", flight_);
  Send("b", flight_);
  RefuseAll();
  RowsInFlight::Finished finished = flight_.TakeFinished();
  EXPECT_THAT(Ids(finished.returned), UnorderedElementsAre("a", "b"));
  EXPECT_TRUE(finished.refused.empty());
  const FetchSizer portion(100);
  EXPECT_EQ(polling_sender_->MaxRows(portion), 1u);

  EXPECT_EQ(Send("a", flight_), Sent::kSent);
  EXPECT_FALSE(polling_sender_->WantsRows(kNow));
  EXPECT_EQ(Send("b", other_), Sent::kNotNow) << "one at a time";
  polling_sender_->OnNotDelivered(sink_.accepted().back().sequence,
                                  absl::InvalidArgumentError("too large"));
  EXPECT_EQ(flight_.TakeFinished().refused.size(), 1u);
  EXPECT_EQ(Send("b", flight_), Sent::kSent);
  polling_sender_->OnAcknowledged(sink_.accepted().back().sequence, WallNow());
  EXPECT_EQ(polling_sender_->MaxRows(portion), portion.rows());
}

TEST_F(PollingSenderTest, SuspectsThatDoNotComeBackAreForgotten) {
  Send("a", flight_);
  Send("b", flight_);
  RefuseAll();
  const FetchSizer portion(100);
  EXPECT_EQ(polling_sender_->MaxRows(portion), 1u);
  Send("c", flight_, absl::OkStatus(), kNow + std::chrono::minutes(2));
  EXPECT_EQ(polling_sender_->MaxRows(portion), portion.rows());
}

TEST_F(PollingSenderTest, ATopicThatIsNotThereIsTheTroubleOfItsRows) {
  sink_.AnswerWith(absl::UnavailableError("no topic"));
  EXPECT_EQ(Send("a", flight_), Sent::kRefused);
  EXPECT_TRUE(polling_sender_->WantsRows(kNow));
}

TEST_F(PollingSenderTest, ATopicThatMayBeMadeYetIsNoRowsTrouble) {
  polling_sender_->SetTopicsAreKnown(false);
  EXPECT_EQ(Send("a", flight_), Sent::kSent);
  polling_sender_->OnNotDelivered(sink_.accepted().back().sequence,
                                  absl::UnavailableError("no topic"));
  sink_.AnswerWith(absl::UnavailableError("no topic"));
  EXPECT_EQ(Send("b", flight_), Sent::kNotNow);
  EXPECT_THAT(Ids(flight_.TakeFinished().returned), ElementsAre("a", "b"));
  EXPECT_FALSE(polling_sender_->WantsRows(kNow)) << "not at once again";
  EXPECT_TRUE(polling_sender_->WantsRows(kNow + std::chrono::seconds(2)));
  polling_sender_->SetTopicsAreKnown(true);
  EXPECT_EQ(Send("b", flight_), Sent::kRefused);
}

TEST_F(PollingSenderTest, ARowThatTheSinkDoesNotTakeNowIsReturnedUntilAReport) {
  EXPECT_EQ(Send("a", flight_), Sent::kSent);
  sink_.AnswerWith(absl::ResourceExhaustedError("not now"));
  EXPECT_EQ(Send("b", flight_), Sent::kNotNow);
  sink_.AnswerWith(absl::OkStatus());
  EXPECT_FALSE(polling_sender_->WantsRows(kNow));
  EXPECT_TRUE(polling_sender_->WantsRows(kNow + std::chrono::seconds(2)))
      << "though there be no report";
  EXPECT_EQ(Send("c", flight_), Sent::kSent) << "what is read anyway may go";
  EXPECT_EQ(polling_sender_->counters().events, 2u);
  EXPECT_EQ(polling_sender_->counters().not_delivered, 0u);
  polling_sender_->OnAcknowledged(sink_.accepted()[0].sequence, WallTime());
  EXPECT_TRUE(polling_sender_->WantsRows(kNow));
  EXPECT_THAT(Ids(flight_.TakeFinished().returned), ElementsAre("b"));
  EXPECT_EQ(failures_, 0);
}

TEST_F(PollingSenderTest, ASinkThatMayTakeMoreIsOfferedItAtOnce) {
  sink_.AnswerWith(absl::ResourceExhaustedError("not now"));
  EXPECT_EQ(Send("a", flight_), Sent::kNotNow);
  EXPECT_FALSE(polling_sender_->WantsRows(kNow));
  polling_sender_->OnCapacity();
  EXPECT_TRUE(polling_sender_->WantsRows(kNow));
}

// An outage makes the waits longer, and its end makes them short again.
TEST_F(PollingSenderTest, ANewSinkIsNotHeldForTheTroubleOfTheLast) {
  sink_.AnswerWith(absl::DeadlineExceededError("no leader"));
  MonotonicTime now = kNow;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Send("a", flight_, absl::OkStatus(), now), Sent::kNotNow);
    now += std::chrono::seconds(10);
    EXPECT_TRUE(polling_sender_->WantsRows(now)) << "at the latest";
  }
  polling_sender_->SetSink(nullptr);
  polling_sender_->SetSink(&sink_);
  EXPECT_EQ(Send("a", flight_, absl::OkStatus(), now), Sent::kNotNow);
  EXPECT_TRUE(polling_sender_->WantsRows(now + std::chrono::seconds(2)));
  EXPECT_EQ(polling_sender_->counters().not_delivered, 0u);
}

TEST_F(PollingSenderTest, P10WhatDelaysRowsIsKnownUntilARecordArrives) {
  EXPECT_EQ(polling_sender_->delay(), "");
  sink_.AnswerWith(absl::DeadlineExceededError("no leader"));
  EXPECT_EQ(Send("a", flight_), Sent::kNotNow);
  EXPECT_EQ(polling_sender_->delay(), "no leader");
  sink_.AnswerWith(absl::OkStatus());
  EXPECT_EQ(Send("a", flight_), Sent::kSent);
  polling_sender_->OnSinkFailed(absl::AbortedError("the stream is full"));
  EXPECT_EQ(polling_sender_->delay(), "the stream is full");
  polling_sender_->OnNotDelivered(sink_.accepted()[0].sequence,
                                  absl::AbortedError("closed"));
  polling_sender_->SetSink(nullptr);
  polling_sender_->SetSink(&sink_);
  EXPECT_NE(polling_sender_->delay(), "") << "nothing has arrived yet";
  EXPECT_EQ(Send("a", flight_), Sent::kSent);
  polling_sender_->OnAcknowledged(sink_.accepted()[1].sequence, WallTime());
  EXPECT_EQ(polling_sender_->delay(), "");
}

TEST_F(PollingSenderTest, WithoutRoomARowIsReturned) {
  for (const char* id : {"a", "b", "c"})
    EXPECT_EQ(Send(id, flight_), Sent::kSent);
  EXPECT_FALSE(polling_sender_->WantsRows(kNow));
  EXPECT_EQ(Send("d", flight_), Sent::kNotNow);
  EXPECT_THAT(Ids(flight_.TakeFinished().returned), ElementsAre("d"));
  EXPECT_EQ(failures_, 0);
}

TEST_F(PollingSenderTest, AfterAPurgeNothingGoesOutUntilThereIsANewSink) {
  Send("a", flight_);
  Send("b", other_);
  polling_sender_->Purge("lease");
  EXPECT_EQ(failures_, 1);
  EXPECT_FALSE(polling_sender_->WantsRows(kNow));
  EXPECT_EQ(Send("c", flight_), Sent::kNotNow);
  for (const auto& record : sink_.accepted()) {
    polling_sender_->OnNotDelivered(record.sequence,
                                    absl::AbortedError("purged"));
  }
  EXPECT_THAT(Ids(flight_.TakeFinished().returned),
              UnorderedElementsAre("a", "c"));
  EXPECT_THAT(Ids(other_.TakeFinished().returned), ElementsAre("b"));
  testing::MemorySink next;
  polling_sender_->SetSink(&next);
  EXPECT_TRUE(polling_sender_->WantsRows(kNow));
  EXPECT_FALSE(polling_sender_->purge_wanted());
}

TEST_F(PollingSenderTest, WhatAnOperatorMustMendIsTroubleUntilARecordArrives) {
  Send("a", flight_);
  polling_sender_->OnNotDelivered(sink_.accepted()[0].sequence,
                                  absl::FailedPreconditionError("ACL"));
  EXPECT_TRUE(absl::IsFailedPrecondition(polling_sender_->trouble()));
  EXPECT_THAT(Ids(flight_.TakeFinished().returned), ElementsAre("a"));
  polling_sender_->SetSink(&sink_);
  Send("a", flight_);
  polling_sender_->OnAcknowledged(sink_.accepted().back().sequence, WallNow());
  EXPECT_TRUE(polling_sender_->trouble().ok());
}

// ---- Dead letters and skipping.

class OutboundSetAsideTest : public PollingSenderTest {
 protected:
  OutboundSetAsideTest() {
    Choose(kReasonRecordTooLarge, ErrorAction::kDeadLetter);
    Choose(kReasonTopicIllegal, ErrorAction::kSkip);
  }
  void Choose(std::string_view error_class, ErrorAction action) {
    actions_.Set(FindErrorClass(error_class), action);
    polling_sender_->SetErrorActions(
        actions_,
        [this](const DivertedEvent& event) { said_.push_back(event); });
  }
  static std::vector<std::string> DivertedEventIds(
      RowsInFlight::Finished finished) {
    std::vector<std::string> ids;
    AddIds(finished.set_aside, ids);
    return ids;
  }
  void Reject(size_t record) {
    polling_sender_->OnNotDelivered(
        sink_.accepted()[record].sequence,
        Undeliverable(kReasonRecordTooLarge, "too large"));
  }
  const std::string& TopicOf(size_t record) const {
    return sink_.accepted()[record].topic;
  }

  ErrorActions actions_;
  std::vector<DivertedEvent> said_;
};

TEST_F(OutboundSetAsideTest,
       ADeadLetterIsSentAndTheRowIsSetAsideWhenItArrived) {
  EXPECT_EQ(Send("a", flight_, Undeliverable(kReasonRecordTooLarge, "why")),
            Sent::kSent);
  EXPECT_EQ(TopicOf(0), "walpost.dead-letter");
  EXPECT_EQ(flight_.finished(), 0u);
  polling_sender_->OnAcknowledged(sink_.accepted()[0].sequence, WallNow());
  const RowsInFlight::Finished finished = flight_.TakeFinished();
  EXPECT_TRUE(finished.acknowledged.empty());
  ASSERT_EQ(finished.set_aside.size(), 1u);
  EXPECT_EQ(finished.set_aside[0].reason.message(), "why");
  EXPECT_EQ(DeliveryCounters::Sum(polling_sender_->counters().dead_letters),
            1u);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0].action, ErrorAction::kDeadLetter);
}

TEST_F(OutboundSetAsideTest, ASkippedRowIsSetAsideAtOnce) {
  EXPECT_EQ(Send("a", flight_, Undeliverable(kReasonTopicIllegal, "why")),
            Sent::kSent);
  EXPECT_TRUE(sink_.accepted().empty());
  EXPECT_THAT(DivertedEventIds(flight_.TakeFinished()), ElementsAre("a"));
  EXPECT_EQ(DeliveryCounters::Sum(polling_sender_->counters().skipped), 1u);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(OutboundSetAsideTest, OtherClassesAreRefused) {
  EXPECT_EQ(Send("a", flight_, Undeliverable(kReasonColumnUnreadable, "why")),
            Sent::kRefused);
  EXPECT_EQ(flight_.TakeFinished().refused.size(), 1u);
}

TEST_F(OutboundSetAsideTest, ARejectedRecordHasADeadLetterNextTime) {
  Send("a", flight_);
  Reject(0);
  EXPECT_THAT(Ids(flight_.TakeFinished().returned), ElementsAre("a"));
  Send("a", flight_);
  EXPECT_EQ(TopicOf(1), "walpost.dead-letter");
  polling_sender_->OnAcknowledged(sink_.accepted()[1].sequence, WallNow());
  EXPECT_THAT(DivertedEventIds(flight_.TakeFinished()), ElementsAre("a"));
  // Another row of that id, later.
  Send("a", flight_);
  EXPECT_EQ(TopicOf(2), "t");
}

TEST_F(OutboundSetAsideTest, TheRowOfAnotherTableIsNotDead) {
  Send("a", flight_);
  Reject(0);
  flight_.TakeFinished();
  Send("a", other_);
  EXPECT_EQ(TopicOf(1), "t");
}

TEST_F(OutboundSetAsideTest, ARejectionIsRememberedForAMinute) {
  Send("a", flight_);
  Reject(0);
  flight_.TakeFinished();
  Send("a", flight_, absl::OkStatus(), kNow + std::chrono::seconds(61));
  EXPECT_EQ(TopicOf(1), "t");
}

TEST_F(OutboundSetAsideTest, ARejectedRecordMayBeSkipped) {
  Choose(kReasonRecordTooLarge, ErrorAction::kSkip);
  Send("a", flight_);
  Reject(0);
  EXPECT_THAT(DivertedEventIds(flight_.TakeFinished()), ElementsAre("a"));
}

TEST_F(OutboundSetAsideTest, ADeadLetterThatIsRejectedRefusesTheRow) {
  Send("a", flight_, Undeliverable(kReasonRecordTooLarge, "why"));
  Reject(0);
  const RowsInFlight::Finished finished = flight_.TakeFinished();
  ASSERT_EQ(finished.refused.size(), 1u);
  EXPECT_THAT(std::string(finished.refused[0].reason.message()),
              ::testing::HasSubstr("its dead letter"));
}

// Rows that were sent within a second of a batch that was refused are sent
// alone; later ones are not suspected.
TEST_F(PollingSenderTest, ASuspicionEndsAfterItsTime) {
  constexpr std::chrono::seconds kSuspicion{60};
  const FetchSizer portion(100);
  for (const auto& [later, is_alone] :
       {std::pair(MonotonicTime::duration(0), true),
        std::pair(MonotonicTime::duration(kSuspicion), true),
        std::pair(
            MonotonicTime::duration(kSuspicion) + MonotonicTime::duration(1),
            false)}) {
    RowsInFlight flight;
    const size_t before = sink_.accepted().size();
    Send("a", flight);
    Send("b", flight);
    for (size_t i = before; i < before + 2; ++i) {
      polling_sender_->OnNotDelivered(sink_.accepted()[i].sequence,
                                      absl::InvalidArgumentError("too large"));
    }
    flight.TakeFinished();
    ASSERT_EQ(polling_sender_->MaxRows(portion), 1u);
    EXPECT_EQ(Send("c", flight, absl::OkStatus(), kNow + later), Sent::kSent);
    EXPECT_EQ(polling_sender_->MaxRows(portion) == 1u, is_alone)
        << later.count();
    polling_sender_->OnAcknowledged(sink_.accepted().back().sequence,
                                    WallNow());
    Send("z", flight, absl::OkStatus(), kNow + 2 * kSuspicion);
    polling_sender_->OnAcknowledged(sink_.accepted().back().sequence,
                                    WallNow());
  }
}

}  // namespace
}  // namespace walpost
