#include "parking/parked_codec.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

DeadLetter SomeContent() {
  DeadLetter content;
  content.source = "public.outbox";
  content.id = "id";
  content.aggregate_type = "";
  content.aggregate_id = std::string("\x01\xff", 2);
  content.headers = "[1]";
  content.payload_bytes = 5'000;
  content.columns = {{"region", "north"}, {"shop", std::nullopt}};
  content.commit_time = WallTime(std::chrono::microseconds(1'234'567));
  content.timestamp = WallTime(std::chrono::microseconds(-1'234'567));
  return content;
}

TEST(ParkedCodecTest, TextOrderIsTheOrderOfPositions) {
  const Position positions[] = {{Lsn(0x9), 0x10},
                                {Lsn(0x10), 0x2},
                                {Lsn(0x10), 0x10},
                                {Lsn(UINT64_MAX), UINT64_MAX}};
  std::string before;
  for (const Position& position : positions) {
    const std::string text = SortableText(position);
    EXPECT_LT(before, text);
    EXPECT_EQ(*ParseSortableText(text), position);
    before = text;
  }
}

TEST(ParkedCodecTest, WhatIsNoPositionOrStateIsNamed) {
  EXPECT_TRUE(absl::IsDataLoss(ParseSortableText("0/1").status()));
  EXPECT_TRUE(absl::IsDataLoss(ParseSortableText("").status()));
  const absl::Status status = ParseParkedState("gone").status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_NE(status.message().find("'gone'"), std::string::npos);
}

TEST(ParkedCodecTest, StatesAreReadBack) {
  for (const ParkedState state :
       {ParkedState::kDead, ParkedState::kWaiting, ParkedState::kRetry,
        ParkedState::kReleased, ParkedState::kDiscarded, ParkedState::kLetter,
        ParkedState::kLetterRetry, ParkedState::kLetterRetried,
        ParkedState::kLetterDiscarded}) {
    EXPECT_EQ(*ParseParkedState(ToString(state)), state);
  }
}

TEST(ParkedCodecTest, KeepsNullsEmptyTextsAndBytes) {
  DeadLetter read;
  ASSERT_TRUE(DecodeParked(EncodeParked(SomeContent()), read).ok());
  const DeadLetter written = SomeContent();
  EXPECT_EQ(read.source, written.source);
  EXPECT_EQ(read.id, written.id);
  EXPECT_EQ(read.aggregate_type, written.aggregate_type);
  EXPECT_EQ(read.aggregate_id, written.aggregate_id);
  EXPECT_EQ(read.type, std::nullopt);
  EXPECT_EQ(read.headers, written.headers);
  EXPECT_EQ(read.payload_bytes, written.payload_bytes);
  EXPECT_EQ(read.columns, written.columns);
  EXPECT_EQ(read.commit_time, written.commit_time);
  EXPECT_EQ(read.timestamp, written.timestamp);
}

TEST(ParkedCodecTest, EveryPrefixIsReadOrRefused) {
  const std::string bytes = EncodeParked(SomeContent());
  for (size_t length = 0; length < bytes.size(); ++length) {
    DeadLetter read;
    const absl::Status status = DecodeParked(bytes.substr(0, length), read);
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << length;
  }
}

}  // namespace
}  // namespace walpost
