#include "pgoutput/stream_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "support/message_bytes.h"
#include "support/truncation_twin.h"

namespace walpost::pgoutput {
namespace {

using walpost::testing::ExpectEveryPrefixFails;
using walpost::testing::ExpectTrailingByteFails;
using walpost::testing::KeepaliveFrame;
using walpost::testing::XLogDataFrame;
using std::literals::operator""sv;

TEST(StreamFrameTest, ReadsXLogData) {
  const std::string bytes = XLogDataFrame(Lsn(0x1234567890), 5, "payload");
  const auto frame = DecodeServerFrame(bytes);
  ASSERT_TRUE(frame.ok());
  const auto& data = std::get<XLogData>(*frame);
  EXPECT_EQ(data.start_lsn, Lsn(0x1234567890));
  EXPECT_EQ(data.send_time, FromPostgresMicros(5));
  EXPECT_EQ(data.payload, "payload");
  EXPECT_EQ(data.payload.data(), bytes.data() + 25) << "a view, not a copy";
}

TEST(StreamFrameTest, ReadsKeepaliveAndWhetherAReplyIsWanted) {
  for (const bool wanted : {false, true}) {
    const std::string bytes = KeepaliveFrame(Lsn(0x77), -1, wanted);
    const auto frame = DecodeServerFrame(bytes);
    ASSERT_TRUE(frame.ok());
    const auto& keepalive = std::get<PrimaryKeepalive>(*frame);
    EXPECT_EQ(keepalive.wal_end, Lsn(0x77));
    EXPECT_EQ(keepalive.send_time, FromPostgresMicros(-1));
    EXPECT_EQ(keepalive.reply_requested, wanted);
  }
}

TEST(StreamFrameTest, TruncatedFramesAreDataLoss) {
  // The payload is what is left, so XLogData is cut only up to its header.
  ExpectEveryPrefixFails(DecodeServerFrame, XLogDataFrame(Lsn(1), 2, ""));
  ExpectEveryPrefixFails(DecodeServerFrame, KeepaliveFrame(Lsn(1), 2, true));
  ExpectTrailingByteFails(DecodeServerFrame, KeepaliveFrame(Lsn(1), 2, true));
}

TEST(StreamFrameTest, UnknownFramesAreDataLossAndNameTheirKind) {
  const absl::Status status = DecodeServerFrame("r\0\0\0\0\0\0\0\0"sv).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_NE(std::string(status.message()).find("0x72"), std::string::npos)
      << status;
}

TEST(StreamFrameTest, WritesStandbyStatusWithConfirmedAsFlushAndApply) {
  StandbyStatus status;
  status.received = Lsn(0x0102030405060708);
  status.confirmed = Lsn(0x0000001100000022);
  status.time = FromPostgresMicros(3);
  status.reply_requested = true;
  const auto bytes = EncodeStandbyStatus(status);
  EXPECT_EQ(std::string_view(bytes.data(), bytes.size()),
            "r"
            "\x01\x02\x03\x04\x05\x06\x07\x08"
            "\0\0\0\x11\0\0\0\x22"
            "\0\0\0\x11\0\0\0\x22"
            "\0\0\0\0\0\0\0\x03"
            "\x01"sv);
}

TEST(StreamFrameTest, StandbyStatusAsksForNoReplyByItself) {
  EXPECT_EQ(EncodeStandbyStatus(StandbyStatus()).back(), 0);
}

}  // namespace
}  // namespace walpost::pgoutput
