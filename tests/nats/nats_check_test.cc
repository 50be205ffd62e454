#include "nats/nats_check.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "nats/nats_server.h"

namespace walpost {
namespace {

constexpr std::chrono::milliseconds kTimeout{5'000};

NatsOptions OptionsOf(const std::string& servers) {
  NatsOptions options;
  options.servers = servers;
  return options;
}

std::string IdsOf(const SinkFindings& found) {
  std::string ids;
  for (const Finding& finding : found.findings) ids += finding.id.text() + " ";
  return ids;
}

TEST(NatsCheckTest, AServerThatIsNotThereIsAFinding) {
  const auto found =
      CheckNats(OptionsOf("nats://127.0.0.1:1"), {{"t", true}}, kTimeout);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->answers);
  EXPECT_EQ(IdsOf(*found), "nats_unavailable ");
}

TEST(NatsCheckTest, LooksAtTheStreamsOfTheSubjects) {
  const testing::NatsServer server;
  server.MakeStream("ORDERS", "o.>");
  const auto found =
      CheckNats(OptionsOf(server.url()), {{"o."}, {"p.", false}}, kTimeout);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->answers);
  EXPECT_EQ(IdsOf(*found), "stream_few_replicas stream_missing ");
  EXPECT_TRUE(found->topic_ids.contains("ORDERS"));
}

TEST(NatsCheckTest, AStreamOfTwoRoutesIsSaidOnce) {
  const testing::NatsServer server;
  server.MakeStream("ORDERS", "o.>");
  server.MakeStream("KV_b", "$KV.b.>");
  const auto found =
      CheckNats(OptionsOf(server.url()), {{"o.a."}, {"o.b."}, {""}}, kTimeout);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(IdsOf(*found), "stream_few_replicas ");
}

TEST(NatsCheckTest, AStreamWithoutTheSubjectOfDeadLettersIsEdited) {
  const testing::NatsServer server;
  server.MakeStream("ORDERS", "o.>");
  NatsOptions options = OptionsOf(server.url());
  const NatsSubjects letters = {"walpost.dead-letter", true,
                                NatsSubjects::Use::kPossibleLetters};
  const auto found = CheckNats(options, {{"o."}, letters}, kTimeout);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(IdsOf(*found), "stream_few_replicas stream_missing ");
  EXPECT_NE(found->findings[1].remedy.find("stream edit 'ORDERS'"),
            std::string::npos);
  options.create_stream = NatsStreamCreation();
  options.create_stream->name = "ORDERS";
  options.create_stream->subjects = {"o.>", letters.text};
  const auto named = CheckNats(options, {{"o."}, letters}, kTimeout);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(IdsOf(*named), "stream_few_replicas stream_lacks_subjects ");
}

TEST(NatsCheckTest, FindsTheCreationOfStreamsThatExist) {
  const testing::NatsServer server;
  server.MakeStream("ORDERS", "o.>");
  const auto found =
      FindNatsStreams(OptionsOf(server.url()), {"ORDERS", "NONE"}, kTimeout);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_NE(found->at("ORDERS"), "");
}

TEST(NatsCheckTest, JetStreamThatIsOffIsAFinding) {
  const testing::NatsServer server(testing::NatsServer::JetStream::kOff);
  const auto found = CheckNats(OptionsOf(server.url()), {{"o."}}, kTimeout);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(IdsOf(*found), "jetstream_unavailable ");
}

}  // namespace
}  // namespace walpost
