// ClusterSink on a real cluster, of which a master is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "redis/cluster_slots.h"
#include "redis/redis_sinks.h"
#include "support/redis_cluster.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class Reports final : public RecordReports {
 public:
  void OnAcknowledged(Sequence, WallTime) override { ++acknowledged; }
  void OnNotDelivered(Sequence, const absl::Status&) override {}
  void OnSinkFailed(const absl::Status& error) override { failure = error; }

  int acknowledged = 0;
  absl::Status failure;
};

// A stream of the n-th third of the slots.
std::string StreamOf(uint16_t third) {
  for (int i = 0;; ++i) {
    std::string name = "s" + std::to_string(i);
    if (HashSlotOf(name) / 5'462 == third) return name;
  }
}

class ClusterSinkTest : public ::testing::Test {
 protected:
  void Begin(seconds timeout = seconds(2)) {
    RedisOptions options;
    options.cluster = cluster_.addresses();
    options.timeout = timeout;
    auto made =
        RedisSinks(io_.get_executor(), options)(SinkOptions(), reports_, [] {});
    ASSERT_TRUE(made.ok()) << made.status();
    sink_ = *std::move(made);
  }
  absl::Status Offer(const std::string& stream) {
    Record record;
    record.topic = stream;
    record.id = "1";
    record.value = "payload";
    record.position = TimelinePosition{1, {Lsn(100 + sequence_), 1}};
    return sink_->Produce(record, ++sequence_);
  }
  void Produce(const std::string& stream) {
    absl::Status status = absl::ResourceExhaustedError("");
    TurnUntil([&] {
      status = Offer(stream);
      return !absl::IsResourceExhausted(status);
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  template <typename Condition>
  void TurnUntil(Condition condition) {
    const MonotonicTime limit = Clock::now() + seconds(15);
    while (!condition()) {
      ASSERT_LT(Clock::now(), limit) << sink_->Health().trouble;
      io_.restart();
      io_.run_for(milliseconds(5));
    }
  }
  bool IsUp() { return sink_->Health().brokers_up > 0; }

  testing::RedisCluster cluster_;
  boost::asio::io_context io_{1};
  Reports reports_;
  std::unique_ptr<Sink> sink_;
  Sequence sequence_ = 0;
};

TEST_F(ClusterSinkTest, P10AMasterThatIsDownIsNamedOnceARecordWaitsForIt) {
  cluster_.server(0).Kill();
  Begin();
  TurnUntil([&] { return IsUp(); });
  Produce(StreamOf(1));
  TurnUntil([&] { return reports_.acknowledged == 1; });
  SinkHealth health = sink_->Health();
  EXPECT_EQ(health.trouble, "");
  EXPECT_FALSE(health.is_comparing);
  EXPECT_GT(health.heard_at, Clock::now() - seconds(3));

  const std::string stream = StreamOf(0);
  EXPECT_TRUE(absl::IsResourceExhausted(Offer(stream)));
  TurnUntil([&] {
    return sink_->Health().trouble.find("refused") != std::string::npos;
  });
  health = sink_->Health();
  EXPECT_THAT(health.trouble, AllOf(HasSubstr("stream " + stream),
                                    HasSubstr(cluster_.server(0).address())));
  EXPECT_EQ(health.heard_at, MonotonicTime());
  EXPECT_GT(health.brokers_up, 0u);

  cluster_.server(0).Start();
  TurnUntil([&] { return cluster_.IsWhole(); });
  Produce(stream);
  TurnUntil([&] { return reports_.acknowledged == 2; });
  EXPECT_EQ(sink_->Health().trouble, "");
  EXPECT_GT(sink_->Health().heard_at, Clock::now() - seconds(3));
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
}

TEST_F(ClusterSinkTest, P10AMasterThatIsSilentIsNamed) {
  Begin(seconds(10));
  TurnUntil([&] { return IsUp(); });
  const std::string stream = StreamOf(2);
  Produce(stream);
  TurnUntil([&] { return reports_.acknowledged == 1; });
  cluster_.server(2).Freeze();
  Produce(stream);
  TurnUntil([&] { return !sink_->Health().trouble.empty(); });
  EXPECT_THAT(sink_->Health().trouble, HasSubstr(cluster_.server(2).address() +
                                                 " has answered nothing"));
  cluster_.server(2).Thaw();
  TurnUntil([&] { return reports_.acknowledged == 2; });
  EXPECT_EQ(sink_->Health().trouble, "");
}

TEST_F(ClusterSinkTest, P10AMasterThatRefusesThePasswordIsNamed) {
  Begin();
  TurnUntil([&] { return IsUp(); });
  cluster_.server(2).Ask({"CONFIG", "SET", "requirepass", "secret"});
  EXPECT_TRUE(absl::IsResourceExhausted(Offer(StreamOf(2))));
  TurnUntil([&] {
    return sink_->Health().trouble.find("NOAUTH") != std::string::npos;
  });
  EXPECT_THAT(sink_->Health().trouble,
              HasSubstr("stream " + StreamOf(2) + " waits"));
  EXPECT_EQ(sink_->Health().heard_at, MonotonicTime());
}

}  // namespace
}  // namespace walpost
