// Sender: events that are not of the WAL, and are only numbered.
#include "delivery/sender.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/memory_sink.h"

namespace walpost {
namespace {

using testing::MemorySink;
using Offer = Sender::Offer;
using Values = std::vector<std::string>;

class SenderTest : public ::testing::Test {
 protected:
  SenderTest() { sender_.SetSink(&sink_); }

  static std::unique_ptr<RecordBuilder> MakeBuilder() {
    OutboxOptions options;
    options.tables.resize(1);
    return RecordBuilder::Create(options).value();
  }

  // The value is the number.
  Offer OfferEvent(uint64_t number,
                   const absl::Status& mapped = absl::OkStatus()) {
    const std::string value = std::to_string(number);
    const std::vector<Value> references = {Value("order")};
    Event event;
    event.position = {Lsn(), number};
    event.aggregate_id = "k";
    event.payload = value;
    event.references = references;
    return sender_.OnEvent(event, mapped);
  }

  MemorySink sink_;
  Sender sender_{MakeBuilder(), {}};
};

TEST_F(SenderTest, AWatermarkIsPassedWithTheEventsBeforeIt) {
  OfferEvent(1);
  sender_.AddWatermark(1);
  OfferEvent(2);
  sender_.AddWatermark(2);
  sender_.AddWatermark(5);
  sender_.OnAcknowledged(1, WallTime());
  EXPECT_EQ(sender_.window().passed_watermark(), 0u);
  sender_.OnAcknowledged(0, WallTime());
  EXPECT_EQ(sender_.window().passed_watermark(), 5u);
}

TEST_F(SenderTest, ManyPartitionsHaveRoomForMoreRecordsInFlight) {
  sink_.SetPartitions(700);
  uint64_t number = 0;
  while (OfferEvent(number + 1) == Offer::kAccepted) ++number;
  EXPECT_EQ(number, 4u * 700);
}

TEST_F(SenderTest, FewPartitionsHaveNoRoomForMore) {
  sink_.SetPartitions(500);
  uint64_t number = 0;
  while (OfferEvent(number + 1) == Offer::kAccepted) ++number;
  EXPECT_EQ(number, AcknowledgementWindow::Options().max_records);
}

TEST_F(SenderTest, P3OfRepeatedEventsThoseThatAreAcknowledgedAreNotSent) {
  for (const uint64_t number : {1, 2, 3, 4}) OfferEvent(number);
  sender_.OnAcknowledged(0, WallTime());
  sender_.OnAcknowledged(2, WallTime());
  sender_.Rewind();
  EXPECT_EQ(sender_.window().acknowledged().position, (Position{Lsn(), 1}));
  for (const uint64_t number : {1, 2, 3, 4}) {
    EXPECT_EQ(OfferEvent(number), Offer::kAccepted);
  }
  EXPECT_EQ(sink_.Values(), (Values{"1", "2", "3", "4", "2", "4"}));
  EXPECT_EQ(sender_.counters().repeats, 2u);
  sender_.Rewind();
  for (const uint64_t number : {1, 2, 3, 4}) OfferEvent(number);
  EXPECT_EQ(sink_.Values(), (Values{"1", "2", "3", "4", "2", "4", "2", "4"}))
      << "3 is not forgotten with the second loss";
}

TEST_F(SenderTest, AfterStartOverTheNumbersMayBeginAgain) {
  OfferEvent(7);
  sender_.StartOver();
  EXPECT_EQ(OfferEvent(1), Offer::kAccepted);
  EXPECT_EQ(sink_.Values(), (Values{"7", "1"}));
}

TEST_F(SenderTest, AnEventThatStopsTheFlowNeedsNoSink) {
  sender_.SetSink(nullptr);
  EXPECT_EQ(OfferEvent(1), Offer::kBackpressure);
  EXPECT_FALSE(sender_.stoppage().has_value());
  EXPECT_EQ(OfferEvent(1, absl::InvalidArgumentError("wrong")),
            Offer::kBackpressure);
  ASSERT_TRUE(sender_.stoppage().has_value());
  EXPECT_FALSE(sender_.stoppage()->is_in_stream());
}

}  // namespace
}  // namespace walpost
