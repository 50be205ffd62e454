// What live servers sent (tests/golden) against what SQL says it means.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "pgoutput/decoder.h"
#include "pgoutput/stream_frame.h"
#include "support/message_lines.h"
#include "support/transcript.h"
#include "support/truncation_twin.h"

namespace walpost::pgoutput {
namespace {

using walpost::testing::ExactBytes;
using walpost::testing::RecordedFrame;

// Kinds of protocols 2 to 4, which are never asked for.
bool IsUnknownKind(char kind) {
  return std::string_view("SEcAbPKrp").find(kind) != std::string_view::npos;
}

class GoldenTranscriptTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::vector<RecordedFrame> frames_ =
      walpost::testing::ReadTranscript(GetParam());
};

std::string NameOf(const ::testing::TestParamInfo<std::string>& stem) {
  return walpost::testing::TestName(stem.param);
}

// ---- Every recording.

using EveryRecordingTest = GoldenTranscriptTest;

INSTANTIATE_TEST_SUITE_P(Recorded, EveryRecordingTest,
                         ::testing::ValuesIn(walpost::testing::AllRecordings()),
                         NameOf);

TEST_P(EveryRecordingTest, FramesDecode) {
  ASSERT_FALSE(frames_.empty());
  for (const RecordedFrame& frame : frames_) {
    const ExactBytes bytes(frame.body);
    const auto decoded = DecodeServerFrame(bytes.view());
    ASSERT_TRUE(decoded.ok()) << "line " << frame.line;
    if (frame.is_keepalive()) {
      ASSERT_TRUE(std::holds_alternative<PrimaryKeepalive>(*decoded));
    } else {
      ASSERT_TRUE(std::holds_alternative<XLogData>(*decoded));
      EXPECT_EQ(std::get<XLogData>(*decoded).payload, frame.message());
    }
  }
}

TEST_P(EveryRecordingTest, NoTruncatedFrameDecodesAsAnother) {
  for (const RecordedFrame& frame : frames_) {
    const size_t header = frame.is_keepalive() ? frame.body.size() : 25;
    for (size_t size = 0; size < header; ++size) {
      const ExactBytes prefix(frame.body.substr(0, size));
      EXPECT_TRUE(absl::IsDataLoss(DecodeServerFrame(prefix.view()).status()))
          << "line " << frame.line << ", " << size << " bytes";
    }
  }
}

// Of the streamed recordings, the changes inside a streamed block carry an
// xid that protocol 1 does not know: garbage, which must do no harm.
TEST_P(EveryRecordingTest, NoMessageAndNoPrefixOfOneCrashesTheDecoder) {
  for (const RecordedFrame& frame : frames_) {
    if (frame.is_keepalive()) continue;
    for (size_t size = 0; size <= frame.message().size(); ++size) {
      const ExactBytes prefix(frame.message().substr(0, size));
      const auto message = Decode(prefix.view());
      ASSERT_TRUE(message.ok() || absl::IsDataLoss(message.status()));
    }
  }
}

TEST_P(EveryRecordingTest, KindsOfNewerProtocolsAreUnknown) {
  for (const RecordedFrame& frame : frames_) {
    if (!IsUnknownKind(frame.kind)) continue;
    const auto message = Decode(frame.message());
    ASSERT_TRUE(message.ok()) << "line " << frame.line;
    ASSERT_TRUE(std::holds_alternative<Unknown>(*message));
    EXPECT_EQ(std::get<Unknown>(*message).kind, frame.kind);
  }
}

// ---- Those of protocol 1.

class ProtocolOneRecordingTest : public GoldenTranscriptTest {};

std::vector<std::string> ProtocolOneRecordings() {
  std::vector<std::string> stems;
  for (const char* stream : {"", "everything", "binary"}) {
    std::ranges::copy(walpost::testing::Recordings(stream),
                      std::back_inserter(stems));
  }
  return stems;
}

INSTANTIATE_TEST_SUITE_P(Recorded, ProtocolOneRecordingTest,
                         ::testing::ValuesIn(ProtocolOneRecordings()), NameOf);

TEST_P(ProtocolOneRecordingTest, EveryTruncatedMessageIsDataLoss) {
  for (const RecordedFrame& frame : frames_) {
    if (frame.is_keepalive() || IsUnknownKind(frame.kind)) continue;
    SCOPED_TRACE(frame.line);
    walpost::testing::ExpectEveryPrefixFails(Decode, frame.message());
    walpost::testing::ExpectTrailingByteFails(Decode, frame.message());
  }
}

// Cuts the bounds of the commit record, known to SQL alone, off a begin line.
std::pair<Lsn, Lsn> TakeBounds(std::string& begin) {
  const auto bound = [&begin](std::string_view name) {
    const size_t at = begin.find(name);
    return Lsn(std::stoull(begin.substr(at + name.size(), 16), nullptr, 16));
  };
  const std::pair bounds(bound("\tlsn_from="), bound("\tlsn_to="));
  begin.erase(begin.find("\tlsn_from="));
  return bounds;
}

TEST_P(ProtocolOneRecordingTest, SaysWhatSqlSays) {
  walpost::testing::MessageLines decoded;
  for (const RecordedFrame& frame : frames_) {
    if (frame.is_keepalive()) continue;
    const auto message = Decode(frame.message());
    ASSERT_TRUE(message.ok()) << "line " << frame.line << message.status();
    decoded.Add(*message);
  }
  std::vector<std::string> expected =
      walpost::testing::ReadExpected(GetParam());
  std::vector<std::pair<Lsn, Lsn>> bounds;
  for (std::string& line : expected) {
    if (line.starts_with("begin\t")) bounds.push_back(TakeBounds(line));
  }
  ASSERT_FALSE(bounds.empty());
  // Line by line: a difference prints better than two long lists.
  const std::vector<std::string>& lines = decoded.lines();
  for (size_t i = 0; i < std::min(lines.size(), expected.size()); ++i) {
    ASSERT_EQ(lines[i], expected[i]) << "line " << i << " that says something";
  }
  ASSERT_EQ(lines.size(), expected.size());
  ASSERT_EQ(decoded.commit_lsns().size(), bounds.size());
  for (size_t i = 0; i < bounds.size(); ++i) {
    EXPECT_GE(decoded.commit_lsns()[i], bounds[i].first);
    EXPECT_LT(decoded.commit_lsns()[i], decoded.end_lsns()[i]);
    EXPECT_LE(decoded.end_lsns()[i], bounds[i].second);
  }
}

TEST_P(ProtocolOneRecordingTest, CommitLsnsOnlyGrow) {
  Lsn last;
  for (const RecordedFrame& frame : frames_) {
    if (frame.kind != 'B') continue;
    const auto message = Decode(frame.message());
    const Lsn commit_lsn = std::get<Begin>(*message).commit_lsn;
    EXPECT_GT(commit_lsn, last) << "line " << frame.line;
    last = commit_lsn;
  }
}

// The walsender may have read into the next transaction, but not to its end:
// what makes it safe to confirm a keepalive (promise P7).
TEST_P(ProtocolOneRecordingTest, KeepalivesNeverPassACommitThatIsYetToCome) {
  Lsn last;
  for (const RecordedFrame& frame : frames_) {
    if (frame.is_keepalive()) {
      const auto decoded = DecodeServerFrame(frame.body);
      last = std::get<PrimaryKeepalive>(*decoded).wal_end;
    } else if (frame.kind == 'B') {
      const auto message = Decode(frame.message());
      EXPECT_GE(std::get<Begin>(*message).commit_lsn, last)
          << "line " << frame.line;
    }
  }
}

}  // namespace
}  // namespace walpost::pgoutput
