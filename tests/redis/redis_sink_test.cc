// RedisSink on real servers: durability, errors that pass, and losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "redis/redis_sinks.h"
#include "support/finding_text.h"
#include "support/redis_server.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

class Reports final : public RecordReports {
 public:
  void OnAcknowledged(Sequence sequence, WallTime) override {
    acknowledged.push_back(sequence);
  }
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override {
    not_delivered.emplace(sequence, error);
  }
  void OnSinkFailed(const absl::Status& error) override { failure = error; }

  std::vector<Sequence> acknowledged;
  std::map<Sequence, absl::Status> not_delivered;
  absl::Status failure;
};

class RedisSinkTest : public ::testing::Test {
 protected:
  RedisSinkTest() { options_.address = server_.address(); }

  void Begin() {
    sink_.reset();
    knowledge_->SetTopics("");
    auto made = knowledge_->Sinks()(SinkOptions(), reports_, [] {});
    ASSERT_TRUE(made.ok()) << made.status();
    sink_ = *std::move(made);
    sink_->ExpectTopics();
  }
  void Learn() {
    knowledge_ = MakeRedisKnowledge(io_.get_executor(), options_);
    Begin();
  }

  absl::Status Offer(Sequence sequence, const std::string& stream = "s") {
    const std::string id = std::to_string(sequence);
    Record record;
    record.topic = stream;
    record.id = id;
    record.value = "payload";
    record.position = TimelinePosition{1, {Lsn(100 + sequence), 1}};
    return sink_->Produce(record, sequence);
  }
  void Produce(Sequence sequence, const std::string& stream = "s") {
    absl::Status status;
    TurnUntil([&] {
      status = Offer(sequence, stream);
      return !absl::IsResourceExhausted(status);
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  void Turn() {
    io_.restart();
    io_.run_for(milliseconds(5));
  }
  template <typename Condition>
  void TurnUntil(Condition condition) {
    const MonotonicTime limit = Clock::now() + seconds(15);
    while (!condition()) {
      ASSERT_LT(Clock::now(), limit) << sink_->Health().trouble;
      Turn();
    }
  }
  void TurnFor(milliseconds time) {
    const MonotonicTime end = Clock::now() + time;
    while (Clock::now() < end) Turn();
  }
  void Close() {
    bool closed = false;
    sink_->Close(Clock::now() + seconds(5), [&] { closed = true; });
    TurnUntil([&] { return closed; });
  }
  std::string Length() { return server_.Ask({"XLEN", "s"}); }

  testing::RedisServer server_;
  boost::asio::io_context io_{1};
  RedisOptions options_;
  Reports reports_;
  std::unique_ptr<SinkKnowledge> knowledge_;
  std::unique_ptr<Sink> sink_;
};

TEST_F(RedisSinkTest, WritesInOrderAndCounts) {
  Learn();
  for (Sequence i = 1; i <= 2'500; ++i) Produce(i);
  TurnUntil([&] { return reports_.acknowledged.size() == 2'500; });
  EXPECT_TRUE(std::ranges::is_sorted(reports_.acknowledged));
  EXPECT_EQ(Length(), "2500");
  EXPECT_EQ(knowledge_->topics(), "s=2600-1048576");
  EXPECT_THAT(server_.Ask({"XRANGE", "s", "-", "+", "COUNT", "1"}),
              HasSubstr("101-1048576 id 1 payload payload timestamp 0"));
}

TEST_F(RedisSinkTest, P5ASinkThatFollowsRepeatsNothing) {
  Learn();
  for (Sequence i = 1; i <= 10; ++i) Produce(i);
  TurnUntil([&] { return reports_.acknowledged.size() == 10; });
  Begin();
  for (Sequence i = 5; i <= 12; ++i) Produce(i);
  TurnUntil([&] { return reports_.acknowledged.size() == 18; });
  EXPECT_EQ(Length(), "12");
}

TEST_F(RedisSinkTest, P1AServerThatDoesNotSyncIsRefused) {
  server_.Ask({"CONFIG", "SET", "appendfsync", "everysec"});
  Learn();
  TurnUntil([&] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(reports_.failure));
  EXPECT_THAT(std::string(reports_.failure.message()),
              HasSubstr("appendfsync everysec"));
  EXPECT_TRUE(absl::IsAborted(Offer(1)));
  Close();
}

TEST_F(RedisSinkTest, P1AServerThatNoLongerSyncsIsNoticed) {
  Learn();
  Produce(1);
  server_.Ask({"CONFIG", "SET", "appendfsync", "no"});
  TurnUntil([&] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(reports_.failure));
}

TEST_F(RedisSinkTest, MemoryIsAChoice) {
  server_.Ask({"CONFIG", "SET", "appendonly", "no"});
  options_.durability = RedisDurability::kMemory;
  Learn();
  Produce(1);
  TurnUntil([&] { return reports_.acknowledged.size() == 1; });
}

TEST_F(RedisSinkTest, P2WithoutItsReplicasNothingIsAcknowledged) {
  options_.replicas = 1;
  Learn();
  Produce(1);
  TurnUntil([&] { return !sink_->Health().trouble.empty(); });
  EXPECT_THAT(sink_->Health().trouble, HasSubstr("0 of 1 replicas"));
  EXPECT_THAT(reports_.acknowledged, ElementsAre());
  testing::RedisServer replica(
      {"--replicaof", "127.0.0.1 " + std::to_string(server_.port())});
  TurnUntil([&] { return reports_.acknowledged.size() == 1; });
  EXPECT_EQ(replica.Ask({"XLEN", "s"}), "1");
}

TEST_F(RedisSinkTest, P3FullMemoryPassesWithoutAGap) {
  Learn();
  Produce(1);
  TurnUntil([&] { return reports_.acknowledged.size() == 1; });
  server_.Ask({"CONFIG", "SET", "maxmemory", "1"});
  for (Sequence i = 2; i <= 5; ++i) Produce(i);
  TurnUntil([&] { return !sink_->Health().trouble.empty(); });
  EXPECT_THAT(sink_->Health().trouble, HasSubstr("maxmemory"));
  server_.Ask({"CONFIG", "SET", "maxmemory", "0"});
  TurnUntil([&] { return reports_.acknowledged.size() == 5; });
  EXPECT_EQ(sink_->Health().trouble, "");
  EXPECT_EQ(Length(), "5");
}

TEST_F(RedisSinkTest, AnotherKeyOfTheNameStopsIt) {
  server_.Ask({"SET", "s", "text"});
  Learn();
  Produce(1);
  TurnUntil([&] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(reports_.failure));
  EXPECT_THAT(std::string(reports_.failure.message()), HasSubstr("WRONGTYPE"));
  Close();
  EXPECT_EQ(reports_.not_delivered.size(), 1u);
}

TEST_F(RedisSinkTest, AMissingStreamHoldsOnlyItsOwnRecords) {
  options_.create = false;
  server_.Ask({"XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"});
  Learn();
  Produce(1, "missing");
  Produce(2);
  TurnUntil([&] { return sink_->Health().missing_topic == "missing"; });
  TurnUntil([&] { return reports_.acknowledged.size() == 1; });
  server_.Ask({"XGROUP", "CREATE", "missing", "g", "0", "MKSTREAM"});
  TurnUntil([&] { return reports_.acknowledged.size() == 2; });
}

TEST_F(RedisSinkTest, P9ADeletedStreamIsNotBegunAgain) {
  Learn();
  Produce(1);
  TurnUntil([&] { return reports_.acknowledged.size() == 1; });
  server_.Ask({"DEL", "s"});
  Produce(2);
  TurnUntil([&] { return !reports_.failure.ok(); });
  EXPECT_THAT(knowledge_->replaced_topic(), HasSubstr("stream s"));
  EXPECT_EQ(server_.Ask({"EXISTS", "s"}), "0");
  Close();
  // The next one sees it before any record.
  reports_.failure = absl::OkStatus();
  Begin();
  TurnUntil([&] { return !reports_.failure.ok(); });
  // An operator goes on.
  knowledge_->Forget();
  reports_.failure = absl::OkStatus();
  Begin();
  Produce(3);
  TurnUntil([&] { return reports_.acknowledged.size() == 2; });
}

TEST_F(RedisSinkTest, P9ACheckpointKnowsWhatAStreamHad) {
  Learn();
  server_.Ask({"XADD", "s", "50-1", "id", "x"});
  knowledge_->SetTopics("s=90-1");
  sink_->ExpectTopics();
  TurnUntil([&] { return !reports_.failure.ok(); });
  EXPECT_THAT(knowledge_->replaced_topic(), HasSubstr("50-1"));
}

TEST_F(RedisSinkTest, P1ARestartOfTheServerLosesNothing) {
  Learn();
  for (Sequence i = 1; i <= 100; ++i) Produce(i);
  TurnUntil([&] { return reports_.acknowledged.size() == 100; });
  server_.Kill();
  TurnUntil([&] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsUnavailable(reports_.failure)) << reports_.failure;
  Close();
  Begin();
  TurnUntil([&] { return !sink_->Health().trouble.empty(); });
  server_.Start();
  Produce(101);
  TurnUntil([&] { return reports_.acknowledged.size() == 101; });
  EXPECT_EQ(Length(), "101");
}

TEST_F(RedisSinkTest, AFlushOfScriptsIsNotSeen) {
  Learn();
  Produce(1);
  TurnUntil([&] { return reports_.acknowledged.size() == 1; });
  server_.Ask({"SCRIPT", "FLUSH"});
  Produce(2);
  TurnUntil([&] { return reports_.acknowledged.size() == 2; });
}

TEST_F(RedisSinkTest, AWrongPasswordIsSaidAndANewOneNoticed) {
  server_.Ask({"CONFIG", "SET", "requirepass", "secret"});
  std::string password = "wrong";
  options_.password = ReloadableText(
      "${file:x}", [&]() -> absl::StatusOr<std::string> { return password; });
  Learn();
  TurnUntil([&] { return sink_->Health().rejects_credentials; });
  EXPECT_THAT(sink_->Health().trouble, HasSubstr("WRONGPASS"));
  EXPECT_FALSE(sink_->credentials_have_changed());
  password = "secret";
  EXPECT_TRUE(sink_->credentials_have_changed());
  Begin();
  Produce(1);
  TurnUntil([&] { return reports_.acknowledged.size() == 1; });
}

TEST_F(RedisSinkTest, DestroyedWithoutCloseItSaysNothing) {
  Learn();
  Produce(1);
  sink_.reset();
  TurnFor(milliseconds(50));
  EXPECT_THAT(reports_.acknowledged, ElementsAre());
  EXPECT_TRUE(reports_.not_delivered.empty());
}

TEST_F(RedisSinkTest, CheckFindsTheServer) {
  server_.Ask({"SET", "t", "text"});
  const auto found = CheckRedis(options_, {"s", "t"}, seconds(5));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->answers);
  ASSERT_EQ(found->findings.size(), 2u);
  EXPECT_EQ(found->findings[0].id.text(), "redis_ok");
  EXPECT_EQ(found->findings[1].id.text(), "redis_not_a_stream");
  server_.Kill();
  const auto none = CheckRedis(options_, {"s"}, seconds(5));
  ASSERT_EQ(none->findings.size(), 1u);
  EXPECT_EQ(none->findings[0].id.text(), "redis_unavailable");
}

std::string FirstFinding(const RedisOptions& options) {
  const auto found = CheckRedis(options, {}, seconds(1));
  if (!found.ok() || found->findings.empty()) return "";
  return testing::TextOf(found->findings.front());
}

TEST_F(RedisSinkTest, CheckNamesTheServerOnce) {
  options_.password = ReloadableText("wrong");
  const std::string text = FirstFinding(options_);
  EXPECT_THAT(text, HasSubstr("Redis at " + server_.address()));
  EXPECT_THAT(text, Not(HasSubstr("Redis Redis")));
  EXPECT_EQ(text.find("Redis at"), text.rfind("Redis at")) << text;
}

TEST_F(RedisSinkTest, AServerWithoutTlsIsSuspected) {
  options_.tls.enabled = true;
  EXPECT_THAT(FirstFinding(options_),
              HasSubstr("If not, set redis.tls.enabled: false"));
}

TEST_F(RedisSinkTest, CheckNamesASentinelThatIsDownOnce) {
  server_.Kill();
  options_.sentinels = {std::exchange(options_.address, "")};
  options_.master = "shop";
  EXPECT_THAT(FirstFinding(options_),
              HasSubstr("redis_unavailable Sentinel at " + server_.address() +
                        ": Connection refused"));
}

// It ends a connection that does not begin with a handshake.
TEST(RedisCheckTest, AServerWithTlsIsSuspected) {
  boost::asio::io_context io;
  const auto any = boost::asio::ip::make_address("127.0.0.1");
  boost::asio::ip::tcp::acceptor server(io, {any, 0});
  RedisOptions options;
  options.address =
      "127.0.0.1:" + std::to_string(server.local_endpoint().port());
  std::thread one([&server] { server.accept().close(); });
  EXPECT_THAT(FirstFinding(options),
              HasSubstr("If so, set redis.tls.enabled: true"));
  one.join();
}

TEST_F(RedisSinkTest, AServerIsNotTakenForASentinel) {
  options_.sentinels = {std::exchange(options_.address, "")};
  options_.master = "shop";
  EXPECT_THAT(FirstFinding(options_),
              HasSubstr("not a Sentinel: name it in redis.address"));
}

TEST(RedisOptionsTest, WrongKeysAreNamed) {
  const auto wrong = [](const RedisOptions& options) {
    return std::string(CheckRedisOptions(options).message());
  };
  RedisOptions options;
  EXPECT_THAT(wrong(options), HasSubstr("redis.address is missing"));
  options.address = "a:x";
  EXPECT_THAT(wrong(options), HasSubstr("redis.address: 'a:x'"));
  options.address = "a";
  EXPECT_EQ(wrong(options), "");
  options.sentinels = {"b"};
  EXPECT_THAT(wrong(options), HasSubstr("exclude each other"));
  options.address = "";
  EXPECT_THAT(wrong(options), HasSubstr("redis.master is missing"));
  options.master = "m";
  EXPECT_EQ(wrong(options), "");
}

}  // namespace
}  // namespace walpost
