#include "nats/publish_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "base/reason_code.h"

namespace walpost {
namespace {

using Kind = PublishAnswer::Kind;

TEST(PublishAnswerTest, AnAcknowledgementNamesStreamAndSequence) {
  const PublishAnswer answer =
      PublishAnswer::Parse(R"({"stream":"ORDERS","seq":17})");
  EXPECT_EQ(answer.kind, Kind::kStored);
  EXPECT_EQ(answer.stream, "ORDERS");
  EXPECT_EQ(answer.stream_sequence, 17u);
  EXPECT_FALSE(answer.is_duplicate);
}

TEST(PublishAnswerTest, ADuplicateIsStored) {
  const PublishAnswer answer =
      PublishAnswer::Parse(R"({"stream":"ORDERS","seq":17,"duplicate":true})");
  EXPECT_EQ(answer.kind, Kind::kStored);
  EXPECT_TRUE(answer.is_duplicate);
}

TEST(PublishAnswerTest, AnErrorIsNoAcknowledgement) {
  const PublishAnswer answer = PublishAnswer::Parse(
      R"({"error":{"code":503,"err_code":10077,"description":"maximum messages)"
      R"( exceeded"},"stream":"ORDERS","seq":0})");
  EXPECT_EQ(answer.kind, Kind::kRejected);
  EXPECT_EQ(answer.error.err_code, 10077);
}

// Whatever another subscriber of the subject answers.
TEST(PublishAnswerTest, AnythingElseIsUnintelligible) {
  for (const char* text :
       {"", "ok", "{}", "[]", "17", R"({"stream":"ORDERS"})", R"({"seq":17})",
        R"({"stream":"ORDERS","seq":"17"})", R"({"stream":"O","seq":-1})",
        R"({"stream":"ORDERS","seq":17)"}) {
    EXPECT_EQ(PublishAnswer::Parse(text).kind, Kind::kUnintelligible) << text;
  }
  EXPECT_EQ(PublishAnswer::Parse(std::string(100'000, '[')).kind,
            Kind::kUnintelligible);
}

TEST(JetStreamErrorTest, TheCodeIsTheRemedy) {
  const auto status_of = [](int err_code) {
    return StatusFromJetStream(
        {.code = 400, .err_code = err_code, .description = "why"}, "doing");
  };
  EXPECT_TRUE(absl::IsUnavailable(status_of(10077)));  // full
  EXPECT_TRUE(absl::IsUnavailable(status_of(10008)));  // no leader
  EXPECT_TRUE(absl::IsAborted(status_of(10060)));      // another stream
  EXPECT_TRUE(absl::IsInvalidArgument(status_of(10054)));
  EXPECT_EQ(ReasonCodeOf(status_of(10054)), kReasonRecordTooLarge);
  EXPECT_TRUE(absl::IsNotFound(status_of(kStreamNotFound)));
  EXPECT_TRUE(absl::IsFailedPrecondition(status_of(99999))) << "unknown: stop";
}

TEST(PublishAnswerTest, AMessageIsStoredByTheStreamThatItWasSentTo) {
  const auto answer = PublishAnswer::Parse(R"({"stream":"ORDERS","seq":17})");
  EXPECT_TRUE(answer.IsStoredBy("ORDERS"));
  EXPECT_FALSE(answer.IsStoredBy("OTHER"));
  EXPECT_FALSE(PublishAnswer::NoResponders().IsStoredBy(""));
}

}  // namespace
}  // namespace walpost
