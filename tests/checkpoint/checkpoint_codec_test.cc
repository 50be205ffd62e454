#include "checkpoint/checkpoint_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/truncation_twin.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;

Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.system_identifier = "7412345678901234567";
  checkpoint.timeline = 3;
  checkpoint.slot = "walpost";
  checkpoint.birth = Lsn(0x1'5000'0000);
  checkpoint.confirmed = Lsn(0x1'5000'1234);
  checkpoint.position.commit_lsn = Lsn(0x1'5000'2000);
  checkpoint.position.ordinal = 7;
  checkpoint.numbering = 0x1234'5678'9ABC'DEF0;
  checkpoint.written_at =
      WallTime(std::chrono::microseconds(1'700'000'000'123'456));
  checkpoint.horizon.transaction_id = 0x1'0000'0007;
  checkpoint.horizon.server_started_at =
      WallTime(std::chrono::microseconds(1'600'000'000'654'321));
  checkpoint.commit_xid = Xid(4'000'000'000);
  checkpoint.commit_time =
      WallTime(std::chrono::microseconds(1'500'000'000'654'321));
  checkpoint.coverage = "16390:742";
  checkpoint.kafka_cluster = "MkU3OEVBNTcwNTJENDM2Qg";
  checkpoint.gap = "slot_missing the slot was dropped";
  checkpoint.kafka_topics = "invoices=Xq3Zl0JzT2,orders=b";
  return checkpoint;
}

TEST(CheckpointCodecTest, DecodesWhatItEncoded) {
  const auto decoded = DecodeCheckpoint(EncodeCheckpoint(Example()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, Example());
}

TEST(CheckpointCodecTest, KeepsTheExtremes) {
  Checkpoint checkpoint = Example();
  checkpoint.timeline = UINT32_MAX;
  checkpoint.slot.assign(63, 'a');
  checkpoint.birth = Lsn(UINT64_MAX);
  checkpoint.confirmed = Lsn();
  checkpoint.position.ordinal = UINT64_MAX;
  checkpoint.numbering = UINT64_MAX;
  checkpoint.written_at = WallTime(std::chrono::microseconds(-1));
  checkpoint.horizon.transaction_id = UINT64_MAX;
  const auto decoded = DecodeCheckpoint(EncodeCheckpoint(checkpoint));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, checkpoint);
}

// The contract: what other tools, and other releases, read.
TEST(CheckpointCodecTest, HasTheDocumentedForm) {
  Checkpoint checkpoint;
  checkpoint.system_identifier = "7";
  checkpoint.timeline = 1;
  checkpoint.slot = "s";
  checkpoint.birth = Lsn(2);
  checkpoint.confirmed = Lsn(3);
  checkpoint.position.commit_lsn = Lsn(4);
  checkpoint.position.ordinal = 5;
  checkpoint.numbering = 8;
  checkpoint.written_at = WallTime(std::chrono::microseconds(6'000'007));
  checkpoint.horizon = {10, WallTime(std::chrono::microseconds(1'000'000))};
  const std::string bytes = EncodeCheckpoint(checkpoint);
  using namespace std::string_literals;
  EXPECT_EQ(bytes.substr(0, bytes.size() - 4),
            "WPCK\x01"
            "\x0a\x01"
            "7"
            "\x10\x01"
            "\x1a\x01"
            "s"
            "\x21\x02\0\0\0\0\0\0\0"
            "\x29\x03\0\0\0\0\0\0\0"
            "\x31\x04\0\0\0\0\0\0\0"
            "\x38\x05"
            "\x42\x05\x08\x06\x10\xd8\x36"
            "\x49\x08\0\0\0\0\0\0\0"
            "\x50\x0a"
            "\x5a\x02\x08\x01"s);
}

// As releases wrote it that knew no numbering.
TEST(CheckpointCodecTest, ReadsOneWithoutANumbering) {
  Checkpoint checkpoint = Example();
  checkpoint.numbering = 0;
  const std::string bytes = EncodeCheckpoint(checkpoint);
  EXPECT_EQ(bytes.size() + 9, EncodeCheckpoint(Example()).size());
  const auto decoded = DecodeCheckpoint(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, checkpoint);
}

// Likewise.
TEST(CheckpointCodecTest, ReadsOneWithoutAHorizon) {
  Checkpoint checkpoint = Example();
  checkpoint.horizon = XminHorizon();
  const auto decoded = DecodeCheckpoint(EncodeCheckpoint(checkpoint));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, checkpoint);
}

TEST(CheckpointCodecTest, EveryTruncationIsDataLoss) {
  testing::ExpectEveryPrefixFails(DecodeCheckpoint,
                                  EncodeCheckpoint(Example()));
  testing::ExpectTrailingByteFails(DecodeCheckpoint,
                                   EncodeCheckpoint(Example()));
}

TEST(CheckpointCodecTest, EveryFlippedBitIsDataLoss) {
  const std::string whole = EncodeCheckpoint(Example());
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    const absl::Status status = DecodeCheckpoint(flipped).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << "bit " << bit << ": " << status;
  }
}

TEST(CheckpointCodecTest, ZeroesAreDataLoss) {
  const std::string zeroes(EncodeCheckpoint(Example()).size(), '\0');
  EXPECT_TRUE(absl::IsDataLoss(DecodeCheckpoint(zeroes).status()));
}

TEST(CheckpointCodecTest, NamesAVersionThatItDoesNotKnow) {
  std::string bytes = EncodeCheckpoint(Example());
  bytes[4] = 9;
  const absl::Status status = DecodeCheckpoint(bytes).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 9"));
}

TEST(CheckpointCodecTest, SaysHowItIsBroken) {
  std::string bytes = EncodeCheckpoint(Example());
  bytes[10] = static_cast<char>(bytes[10] ^ 1);
  EXPECT_THAT(std::string(DecodeCheckpoint(bytes).status().message()),
              HasSubstr("checksum"));
  EXPECT_THAT(std::string(DecodeCheckpoint("{}").status().message()),
              HasSubstr("do not begin"));
}

}  // namespace
}  // namespace walpost
