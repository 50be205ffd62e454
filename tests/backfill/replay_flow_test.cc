#include "backfill/replay_flow.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/reason_code.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using testing::MemorySink;
using Do = ReplayFlow::Do;

constexpr Lsn kFrom{0x100};
constexpr Lsn kTo{0x200};

absl::Status Lost() { return absl::UnavailableError("lost"); }

class ReplayFlowTest : public ::testing::Test {
 protected:
  ReplayFlowTest() {
    outbox_.tables.resize(1);
    outbox_.tables[0].name = "public.outbox";
    outbox_.route.topic = "t.{aggregate_type}";
    sender_ = std::make_unique<Sender>(RecordBuilder::Create(outbox_).value(),
                                       AcknowledgementWindow::Options{});
    sender_->SetSink(&kafka_);
    request_.from = kFrom;
    flow_ = std::make_unique<ReplayFlow>(request_, backfill_);
  }

  Do Next() { return flow_->Next(now_); }
  // Up to kStream.
  void Begin() {
    ASSERT_EQ(Next(), Do::kOpen);
    flow_->OnOpened({kFrom, kTo, {}, 1});
    ASSERT_EQ(Next(), Do::kReadOnRecord);
    flow_->On(absl::OkStatus());
    ASSERT_EQ(Next(), Do::kBegin);
    RangeBackfill::Options options;
    options.from = kFrom;
    options.clock = [this] { return now_; };
    options.sink_trouble = [this] {
      return sender_->sink_failure().value_or(absl::OkStatus());
    };
    backfill_.Begin(std::move(options), EventsOnRecord({"public.outbox"}),
                    *sender_);
    flow_->On(absl::OkStatus());
    ASSERT_EQ(Next(), Do::kStartSink);
    flow_->On(absl::OkStatus());
    ASSERT_EQ(Next(), Do::kStream);
  }
  // One event of a transaction of its own.
  void OfferEvent(uint64_t lsn) {
    const std::vector<Value> references = {"order"};
    Event event;
    event.position = {Lsn(lsn), 1};
    event.references = references;
    if (backfill_.OnEvent(event, absl::OkStatus()) ==
        EventConsumer::Offer::kAccepted) {
      backfill_.OnTransactionEnd(Lsn(lsn + 1));
    }
  }
  void ReachEnd() {
    backfill_.OnTransactionEnd(kTo);
    flow_->OnStreamed(absl::OkStatus(), /*reached_end=*/true);
  }
  void Report(const absl::Status& status) {
    const Sequence sequence = kafka_.accepted()[reported_++].sequence;
    if (status.ok()) {
      sender_->OnAcknowledged(sequence, WallTime());
    } else {
      sender_->OnNotDelivered(sequence, status);
    }
  }
  static absl::Status TooLarge() {
    return Undeliverable(kReasonRecordTooLarge, "too large");
  }
  // A sink that has rejected the only record.
  void Reject(uint64_t lsn) {
    OfferEvent(lsn);
    Report(TooLarge());
    flow_->OnStreamed(backfill_.Health(), /*reached_end=*/false);
  }

  OutboxOptions outbox_;
  MemorySink kafka_;
  std::unique_ptr<Sender> sender_;
  MonotonicTime now_{seconds(100)};
  RangeBackfill backfill_;
  ReplayRequest request_;
  std::unique_ptr<ReplayFlow> flow_;
  size_t reported_ = 0;
};

TEST_F(ReplayFlowTest, IsCompleteWhenEveryEventIsAcknowledged) {
  Begin();
  OfferEvent(0x110);
  ReachEnd();
  EXPECT_EQ(Next(), Do::kWait);
  EXPECT_FALSE(flow_->is_complete());
  Report(absl::OkStatus());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(flow_->status().ok());
  EXPECT_TRUE(flow_->is_complete());
  EXPECT_EQ(flow_->resume(), kTo);
}

TEST_F(ReplayFlowTest, EndsWithTheErrorOfWhatComesFirst) {
  flow_->On(Lost());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_FALSE(flow_->is_open());
  EXPECT_EQ(flow_->status(), Lost());
}

TEST_F(ReplayFlowTest, WithoutARecordTheWholeRangeIsLeft) {
  flow_->OnOpened({kFrom, kTo, {}, 1});
  flow_->On(Lost());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(flow_->is_open());
  EXPECT_EQ(flow_->resume(), kFrom);
}

TEST_F(ReplayFlowTest, ALostConnectionEndsIt) {
  Begin();
  OfferEvent(0x110);
  Report(absl::OkStatus());
  OfferEvent(0x120);
  flow_->OnStreamed(Lost(), /*reached_end=*/false);
  EXPECT_EQ(Next(), Do::kEnd) << "what is in flight is given up";
  EXPECT_EQ(flow_->status(), Lost());
  EXPECT_FALSE(flow_->is_complete());
  EXPECT_EQ(flow_->resume(), Lsn(0x111));
}

TEST_F(ReplayFlowTest, ASinkThatFailsEndsIt) {
  Begin();
  OfferEvent(0x110);
  ReachEnd();
  sender_->OnSinkFailed(absl::AbortedError("fatal"));
  EXPECT_EQ(Next(), Do::kCloseSink);
  flow_->On(absl::OkStatus());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(absl::IsAborted(flow_->status()));
  EXPECT_FALSE(flow_->is_complete()) << "although the end was handed in";
}

TEST_F(ReplayFlowTest, ARejectedRecordBeginsAnotherRound) {
  Begin();
  OfferEvent(0x110);
  Report(absl::OkStatus());
  Reject(0x120);
  ASSERT_EQ(Next(), Do::kCloseSink);
  flow_->On(absl::OkStatus());
  ASSERT_EQ(Next(), Do::kOpen);
  EXPECT_EQ(flow_->request().from, Lsn(0x111));
  EXPECT_EQ(flow_->request().to, kTo);
  EXPECT_FALSE(flow_->is_complete()) << "although nothing is in flight";
  flow_->OnOpened({Lsn(0x111), kTo, {}, 1});
  EXPECT_EQ(flow_->range().from, kFrom) << "of all rounds";
  EXPECT_EQ(Next(), Do::kStartSink) << "what is on record was read";
  flow_->On(absl::OkStatus());
  EXPECT_EQ(Next(), Do::kStream);
}

TEST_F(ReplayFlowTest, ARoundThatCannotBeOpenedIsTheLast) {
  Begin();
  Reject(0x110);
  flow_->On(absl::OkStatus());
  ASSERT_EQ(Next(), Do::kOpen);
  flow_->On(Lost());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_EQ(flow_->status(), Lost());
  EXPECT_FALSE(flow_->is_complete());
}

// The culprit of a batch is still to be found, and every other sink fails.
TEST_F(ReplayFlowTest, RoundsThatBringNothingFurtherEnd) {
  Begin();
  OfferEvent(0x110);
  OfferEvent(0x120);
  Report(TooLarge());
  Report(TooLarge());
  int rounds = 0;
  for (;;) {
    flow_->OnStreamed(backfill_.Health(), /*reached_end=*/false);
    ASSERT_EQ(Next(), Do::kCloseSink);
    flow_->On(absl::OkStatus());
    if (Next() == Do::kEnd) break;
    ++rounds;
    flow_->OnOpened({kFrom, kTo, {}, 1});
    flow_->On(absl::OkStatus());
    sender_->OnSinkFailed(absl::AbortedError("fatal"));
  }
  EXPECT_EQ(rounds, SinkRounds::kMax);
  EXPECT_TRUE(absl::IsAborted(flow_->status()));
}

TEST_F(ReplayFlowTest, AfterStopItWaitsForAcknowledgementsUntilTheDeadline) {
  Begin();
  OfferEvent(0x110);
  flow_->Stop(now_ + seconds(5));
  flow_->OnStreamed(absl::OkStatus(), /*reached_end=*/false);
  now_ += seconds(5);
  EXPECT_EQ(Next(), Do::kWait);
  now_ += seconds(1);
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(flow_->status().ok());
  EXPECT_FALSE(flow_->is_complete());
}

TEST_F(ReplayFlowTest, AfterStopThereIsNoFurtherRound) {
  Begin();
  flow_->Stop(now_ + seconds(5));
  Reject(0x110);
  ASSERT_EQ(Next(), Do::kCloseSink);
  flow_->On(absl::OkStatus());
  EXPECT_EQ(Next(), Do::kEnd);
}

TEST_F(ReplayFlowTest, AServerThatShutsDownIsTheReasonUnlessTheEndWasReached) {
  Begin();
  flow_->OnServerTrouble(Lost());
  flow_->Stop(now_ + seconds(5));
  flow_->OnStreamed(absl::OkStatus(), /*reached_end=*/false);
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_EQ(flow_->status(), Lost());
  ReachEnd();
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(flow_->status().ok());
}

}  // namespace
}  // namespace walpost
