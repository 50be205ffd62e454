#include "nats/stream_check.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace walpost {
namespace {

StreamInfo GoodStream() {
  StreamInfo stream;
  stream.name = "ORDERS";
  stream.subjects = {"o.>"};
  stream.replicas = 3;
  stream.duplicate_window = std::chrono::minutes(2);
  return stream;
}

std::set<std::string> IdsOf(const std::vector<StreamInfo>& streams,
                            const NatsOptions& options = {}) {
  std::set<std::string> ids;
  for (const Finding& finding : CheckStreams({"o."}, streams, options)) {
    ids.insert(finding.id.text());
  }
  return ids;
}

TEST(StreamCheckTest, AGoodStreamIsReady) {
  EXPECT_EQ(IdsOf({GoodStream()}), std::set<std::string>{"stream_ready"});
}

TEST(StreamCheckTest, DurabilityIsSpelledOut) {
  StreamInfo stream = GoodStream();
  stream.is_in_memory = true;
  stream.replicas = 1;
  stream.duplicate_window = std::chrono::seconds(1);
  stream.discards_new = true;
  stream.max_messages = 10;
  EXPECT_EQ(IdsOf({stream}),
            (std::set<std::string>{"stream_in_memory", "stream_few_replicas",
                                   "stream_duplicate_window_short",
                                   "stream_may_become_full"}));
}

TEST(StreamCheckTest, AStreamThatNeverAcknowledgesIsAnError) {
  StreamInfo stream = GoodStream();
  stream.acknowledges = false;
  const Findings findings = CheckStreams({"o."}, {stream}, {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_NE(findings[0].remedy.find("--ack"), std::string::npos);
}

TEST(StreamCheckTest, AMissingStreamIsAnErrorUnlessItIsCreated) {
  EXPECT_EQ(IdsOf({}), std::set<std::string>{"stream_missing"});
  NatsOptions options;
  options.create_stream = NatsStreamCreation();
  options.create_stream->subjects = {"o.*"};
  EXPECT_EQ(IdsOf({}, options),
            std::set<std::string>{"stream_will_be_created"});
}

TEST(StreamCheckTest, TheFilterHasWholeTokens) {
  EXPECT_EQ((NatsSubjects{"outbox.event."}.filter()), "outbox.event.>");
  EXPECT_EQ((NatsSubjects{"outbox.ev"}.filter()), "outbox.>");
  EXPECT_EQ((NatsSubjects{""}.filter()), ">");
  EXPECT_EQ((NatsSubjects{"outbox", true}.filter()), "outbox");
}

}  // namespace
}  // namespace walpost
