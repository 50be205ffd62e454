#include "backfill/range_backfill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reason_code.h"
#include "outbox/event_digest.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemorySink;
using Offer = EventConsumer::Offer;

constexpr Lsn kFrom{0x100};

class RangeBackfillTest : public ::testing::Test {
 protected:
  RangeBackfillTest() {
    outbox_.tables.resize(1);
    outbox_.tables[0].name = "public.outbox";
    outbox_.route.topic = "t.{aggregate_type}";
    sender_ = std::make_unique<Sender>(RecordBuilder::Create(outbox_).value(),
                                       AcknowledgementWindow::Options{});
    sender_->SetSink(&kafka_);
  }

  RangeBackfill::Options Range() {
    RangeBackfill::Options options;
    options.from = kFrom;
    options.clock = [this] { return now_; };
    return options;
  }
  static EventsOnRecord OnRecord() { return EventsOnRecord({"public.outbox"}); }
  void Begin(RangeBackfill::Options options) {
    range_.Begin(std::move(options), OnRecord(), *sender_);
  }
  void BeginDryRun(RangeBackfill::Options options) {
    range_.BeginDryRun(std::move(options), OnRecord(),
                       RecordBuilder::Create(outbox_).value());
  }

  // One event of a transaction of its own.
  Offer OfferEvent(uint64_t lsn, const std::string& type = "order",
                   WallTime committed = {}) {
    const std::vector<Value> references = {type};
    const std::string id = std::to_string(lsn);
    Event event;
    event.position = {Lsn(lsn), 1};
    event.xid = Xid(static_cast<uint32_t>(lsn));
    event.id = id;
    event.aggregate_id = "key";
    event.payload = "value";
    event.references = references;
    event.commit_time = committed;
    const Offer offer = range_.OnEvent(event, absl::OkStatus());
    if (offer == Offer::kAccepted) range_.OnTransactionEnd(Lsn(lsn + 1));
    return offer;
  }
  void Acknowledge() {
    for (; reported_ < kafka_.accepted().size(); ++reported_) {
      sender_->OnAcknowledged(kafka_.accepted()[reported_].sequence,
                              WallTime());
    }
  }

  OutboxOptions outbox_;
  MemorySink kafka_;
  std::unique_ptr<Sender> sender_;
  MonotonicTime now_{seconds(100)};
  RangeBackfill range_;
  size_t reported_ = 0;
};

TEST_F(RangeBackfillTest, ContinuesBehindWhatIsAcknowledged) {
  Begin(Range());
  EXPECT_EQ(OfferEvent(0x110), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x120), Offer::kAccepted);
  EXPECT_EQ(range_.resume(), kFrom);
  EXPECT_FALSE(range_.IsDrained());
  Acknowledge();
  EXPECT_EQ(range_.resume(), Lsn(0x121));
  EXPECT_TRUE(range_.IsDrained());
  EXPECT_EQ(range_.counts().events, 2);
  EXPECT_EQ(range_.counts().value_bytes, 10);
}

TEST_F(RangeBackfillTest, AKeepaliveFromBeforeTheRangeIsNoProgress) {
  Begin(Range());
  range_.OnKeepalive(Lsn(0x80));
  EXPECT_EQ(range_.resume(), kFrom);
  range_.OnKeepalive(Lsn(0x200));
  EXPECT_EQ(range_.resume(), Lsn(0x200));
}

TEST_F(RangeBackfillTest, PassesOverWhatIsTooOld) {
  RangeBackfill::Options options = Range();
  options.since = WallTime(hours(2));
  Begin(std::move(options));
  EXPECT_EQ(OfferEvent(0x110, "order", WallTime(hours(1))), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x120, "order", WallTime(hours(2))), Offer::kAccepted);
  EXPECT_EQ(kafka_.accepted().size(), 1);
  EXPECT_EQ(range_.counts().too_old, 1);
}

// By its commit: another event may have the same id.
TEST_F(RangeBackfillTest, WhatWasDecidedAboutAnEventStaysDecided) {
  Event skipped;
  const std::string id = std::to_string(0x110);
  skipped.id = id;
  EventsOnRecord on_record({"public.outbox"});
  on_record.Add({Disposition::kDiscarded, EventDigest("public.outbox", skipped),
                 Lsn(0x110)});
  range_.Begin(Range(), std::move(on_record), *sender_);
  EXPECT_EQ(OfferEvent(0x110), Offer::kAccepted);
  EXPECT_THAT(kafka_.accepted(), IsEmpty());
  EXPECT_EQ(range_.counts().left_out.of(Disposition::kDiscarded), 1);
  EXPECT_EQ(range_.resume(), Lsn(0x111)) << "it is done";
}

TEST_F(RangeBackfillTest, SendsNoMoreThanTheRate) {
  RangeBackfill::Options options = Range();
  options.per_second = 2;
  Begin(std::move(options));
  EXPECT_EQ(range_.retry_at(), MonotonicTime::max());
  EXPECT_EQ(OfferEvent(0x110), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x120), Offer::kBackpressure);
  EXPECT_TRUE(range_.CanTake()) << "the end of a transaction need not wait";
  EXPECT_GT(range_.retry_at(), now_);
  EXPECT_LE(range_.retry_at(), now_ + milliseconds(500));
  now_ = range_.retry_at();
  EXPECT_EQ(OfferEvent(0x120), Offer::kAccepted);
}

TEST_F(RangeBackfillTest, AnEventThatCannotBeDeliveredIsNamed) {
  Begin(Range());
  EXPECT_TRUE(range_.Health().ok());
  EXPECT_EQ(OfferEvent(0x110, "an order"), Offer::kBackpressure);
  EXPECT_TRUE(absl::IsFailedPrecondition(range_.Health()));
  EXPECT_THAT(range_.Health().message(),
              HasSubstr("event 272 of the commit at 0/110 of table "
                        "public.outbox cannot be"));
  EXPECT_EQ(range_.resume(), kFrom);
}

TEST_F(RangeBackfillTest, WhatIsSetAsideIsNoEventThatWasSent) {
  ErrorActions actions;
  actions.Set(FindErrorClass(kReasonTopicIllegal), ErrorAction::kDeadLetter);
  sender_->SetErrorActions(actions, nullptr);
  Begin(Range());
  EXPECT_EQ(OfferEvent(0x110, "an order"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x120), Offer::kAccepted);
  Acknowledge();
  EXPECT_EQ(range_.counts().events, 1);
  EXPECT_EQ(range_.counts().undeliverable, 1);
}

TEST_F(RangeBackfillTest, TheTroubleOfTheSinkEndsIt) {
  RangeBackfill::Options options = Range();
  options.sink_trouble = [] { return absl::UnavailableError("silence"); };
  Begin(std::move(options));
  EXPECT_TRUE(absl::IsUnavailable(range_.Health()));
}

TEST_F(RangeBackfillTest, ADryRunOnlyCounts) {
  RangeBackfill::Options options = Range();
  options.per_second = 1;
  BeginDryRun(std::move(options));
  EXPECT_EQ(OfferEvent(0x110), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x120, "an order"), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x130), Offer::kAccepted) << "at no rate";
  EXPECT_THAT(kafka_.accepted(), IsEmpty());
  EXPECT_EQ(range_.counts().events, 2);
  EXPECT_EQ(range_.counts().undeliverable, 1);
  EXPECT_EQ(range_.counts().value_bytes, 10);
  EXPECT_EQ(range_.resume(), Lsn(0x131));
  EXPECT_TRUE(range_.IsDrained());
  EXPECT_TRUE(range_.Health().ok());
}

// The brokers reject a batch; the next round sends its events one at a time,
// and counts nothing twice.
TEST_F(RangeBackfillTest, AnotherRoundFindsTheEventThatTheBrokersReject) {
  RangeBackfill::Options options = Range();
  options.since = WallTime(hours(2));
  Begin(std::move(options));
  EXPECT_EQ(OfferEvent(0x110, "order", WallTime(hours(1))), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x120, "order", WallTime(hours(3))), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x130, "order", WallTime(hours(3))), Offer::kAccepted);
  EXPECT_FALSE(range_.has_rejected_events());
  const absl::Status too_large =
      Undeliverable(kReasonRecordTooLarge, "the batch is too large");
  for (const MemorySink::Accepted& record : kafka_.accepted()) {
    sender_->OnNotDelivered(record.sequence, too_large);
  }
  reported_ = kafka_.accepted().size();
  ASSERT_TRUE(range_.has_rejected_events());
  range_.Continue();
  EXPECT_EQ(range_.resume(), Lsn(0x111));
  EXPECT_EQ(OfferEvent(0x120, "order", WallTime(hours(3))), Offer::kAccepted);
  EXPECT_EQ(OfferEvent(0x130, "order", WallTime(hours(3))),
            Offer::kBackpressure)
      << "it would not be alone";
  Acknowledge();
  EXPECT_EQ(OfferEvent(0x130, "order", WallTime(hours(3))), Offer::kAccepted);
  sender_->OnNotDelivered(kafka_.accepted().back().sequence, too_large);
  ASSERT_TRUE(range_.has_rejected_events());
  range_.Continue();
  EXPECT_EQ(OfferEvent(0x130, "order", WallTime(hours(3))),
            Offer::kBackpressure)
      << "on_error is stop";
  EXPECT_FALSE(range_.has_rejected_events());
  EXPECT_THAT(std::string(range_.Health().message()),
              HasSubstr("event 304 of the commit at 0/130"));
  EXPECT_EQ(range_.counts().too_old, 1);
  EXPECT_EQ(range_.counts().events, 1);
}

}  // namespace
}  // namespace walpost
