#include "nats/stream_check.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "nats/stream_request.h"

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

// As after a subject was added to nats.create_stream.
TEST(StreamCheckTest, ANamedStreamThatLacksSubjectsIsEdited) {
  NatsOptions options;
  options.servers = "nats://a:4222";
  options.create_stream = NatsStreamCreation();
  options.create_stream->name = "ORDERS";
  options.create_stream->subjects = {"o.>", "walpost.dead-letter"};
  NatsSurroundings around;
  around.named = GoodStream();
  const Findings findings = CheckStreams(
      {"walpost.dead-letter", true, NatsSubjects::Use::kPossibleLetters}, {},
      options, around);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id.text(), "stream_lacks_subjects");
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_EQ(findings[0].remedy,
            "nats --server 'nats://a:4222' stream edit 'ORDERS' --subjects "
            "'o.>' --subjects 'walpost.dead-letter' --force");
}

TEST(StreamCheckTest, DeadLettersNeedAStreamOnceAPolicySendsThem) {
  using Use = NatsSubjects::Use;
  NatsOptions options;
  options.servers = "nats://a:4222";
  for (const auto& [use, severity] :
       {std::pair{Use::kLetters, Severity::kError},
        {Use::kPossibleLetters, Severity::kNote}}) {
    const Findings findings =
        CheckStreams({"walpost.dead-letter", true, use}, {}, options);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, severity);
    EXPECT_EQ(findings[0].remedy,
              "nats --server 'nats://a:4222' stream add DEAD_LETTERS "
              "--subjects 'walpost.dead-letter' --storage file --replicas 1 "
              "--defaults");
  }
}

TEST(StreamCheckTest, DeadLettersGoWhereTheEventsGo) {
  const NatsSubjects letters = {"walpost.dead-letter", true,
                                NatsSubjects::Use::kLetters};
  NatsOptions options;
  NatsSurroundings around;
  around.of_events = GoodStream();
  EXPECT_NE(CheckStreams(letters, {}, options, around)[0].remedy.find(
                "stream edit 'ORDERS' --subjects 'o.>' --subjects "
                "'walpost.dead-letter' --force"),
            std::string::npos);
  options.create_stream = NatsStreamCreation();
  options.create_stream->name = "ORDERS";
  options.create_stream->subjects = {"o.>"};
  EXPECT_EQ(CheckStreams(letters, {}, options)[0].remedy,
            "add walpost.dead-letter to nats.create_stream.subjects");
}

TEST(StreamCheckTest, AMissingStreamHasTheReplicasThatTheServersCanKeep) {
  const auto remedy = [](bool is_clustered) {
    NatsSurroundings around;
    around.is_clustered = is_clustered;
    return CheckStreams({"o."}, {}, {}, around)[0].remedy;
  };
  EXPECT_NE(remedy(true).find("--replicas 3"), std::string::npos);
  EXPECT_NE(remedy(false).find("--replicas 1"), std::string::npos);
}

TEST(StreamCheckTest, CommandsReachTheServersAsWalpostDoes) {
  NatsOptions options;
  options.servers = "tls://a:4222";
  options.tls.ca_file = "/etc/ca's.pem";
  options.tls.certificate_file = "c.pem";
  options.tls.key_file = "k.pem";
  options.user = "shop";
  options.password = "s3cret";
  options.domain = "hub";
  EXPECT_EQ(
      NatsProgram(options),
      "nats --server 'tls://a:4222' --tlsca '/etc/ca'\\''s.pem' --tlscert "
      "'c.pem' --tlskey 'k.pem' --user 'shop' --password "
      "\"$NATS_PASSWORD\" --js-domain 'hub'");
  NatsOptions other;
  other.servers = "a";
  other.credentials_file = "a.creds";
  EXPECT_EQ(NatsProgram(other), "nats --server 'a' --creds 'a.creds'");
  other.credentials_file = "";
  other.token = "t0ken";
  EXPECT_EQ(NatsProgram(other), "nats --server 'a' --user \"$NATS_TOKEN\"");
}

TEST(StreamCheckTest, TheFilterHasWholeTokens) {
  EXPECT_EQ((NatsSubjects{"outbox.event."}.filter()), "outbox.event.>");
  EXPECT_EQ((NatsSubjects{"outbox.ev"}.filter()), "outbox.>");
  EXPECT_EQ((NatsSubjects{""}.filter()), ">");
  EXPECT_EQ((NatsSubjects{"outbox", true}.filter()), "outbox");
}

}  // namespace
}  // namespace walpost
