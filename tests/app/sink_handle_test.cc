// One sink after the other: what the time between them means, and what is
// remembered of the last one.
#include "app/sink/sink_handle.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/memory_sink.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::MemorySink;
using Clock = std::chrono::steady_clock;

class Listener final : public SinkListener {
 public:
  void SetSink(RecordSink* sink) override { sinks.push_back(sink); }
  void OnAcknowledged(Sequence, WallTime) override {}
  void OnNotDelivered(Sequence, const absl::Status&) override { ++undelivered; }
  void OnSinkFailed(const absl::Status&) override {}

  std::vector<RecordSink*> sinks;
  int undelivered = 0;
};

// A commit that is answered when the test says so.
class Transactions final : public SinkTransactions {
 public:
  void TakeOver(milliseconds, Done done) override { done_ = std::move(done); }
  void Commit(Done done) override { done_ = std::move(done); }
  void Interrupt() override {
    ++interrupted;
    Answer(absl::UnavailableError("interrupted"));
  }
  bool is_open() const override { return true; }
  bool is_pending() const { return done_ != nullptr; }
  void Answer(absl::Status status) {
    if (done_) std::exchange(done_, nullptr)(std::move(status));
  }

  int interrupted = 0;

 private:
  Done done_;
};

class SinkHandleTest : public ::testing::Test {
 protected:
  SinkHandleTest()
      : handle_(
            [this](const SinkOptions& options, RecordReports& reports,
                   const std::function<void()>&)
                -> absl::StatusOr<std::unique_ptr<Sink>> {
              if (!refusal_.ok()) return refusal_;
              options_.push_back(options);
              auto sink = std::make_unique<MemorySink>(&reports);
              sink->SetTransactions(&transactions_);
              sink_ = sink.get();
              return std::unique_ptr<Sink>(std::move(sink));
            },
            SinkOptions(), listener_, nullptr) {}

  // Starts a coroutine; the result comes while the loop runs.
  std::shared_ptr<std::optional<absl::Status>> Spawn(
      boost::asio::awaitable<absl::Status> task) {
    auto result = std::make_shared<std::optional<absl::Status>>();
    boost::asio::co_spawn(
        io_,
        [](boost::asio::awaitable<absl::Status> awaited,
           std::shared_ptr<std::optional<absl::Status>> place)
            -> boost::asio::awaitable<void> {
          *place = co_await std::move(awaited);
        }(std::move(task), result),
        boost::asio::detached);
    Turn();
    return result;
  }
  void Turn(milliseconds time = milliseconds(5)) {
    io_.restart();
    io_.run_for(time);
  }
  void Close() {
    bool is_closed = false;
    boost::asio::co_spawn(
        io_,
        [&]() -> boost::asio::awaitable<void> {
          co_await handle_.Close(Clock::now());
          is_closed = true;
        },
        boost::asio::detached);
    Turn();
    sink_->Turn(Clock::now());
    Turn();
    EXPECT_TRUE(is_closed);
  }

  boost::asio::io_context io_;
  Listener listener_;
  Transactions transactions_;
  absl::Status refusal_;
  std::vector<SinkOptions> options_;
  MemorySink* sink_ = nullptr;
  SinkHandle handle_;
};

TEST_F(SinkHandleTest, ThereIsOneSinkAtATime) {
  EXPECT_EQ(handle_.sink(), nullptr);
  ASSERT_TRUE(handle_.Start().ok());
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_EQ(options_.size(), 1u);
  EXPECT_EQ(listener_.sinks, (std::vector<RecordSink*>{sink_}));
  RecordSink* const first = sink_;
  Close();
  EXPECT_EQ(handle_.sink(), nullptr);
  EXPECT_EQ(listener_.sinks, (std::vector<RecordSink*>{first, nullptr}));
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_EQ(options_.size(), 2u);
  EXPECT_EQ(listener_.sinks.size(), 3u);
}

TEST_F(SinkHandleTest, OptionsAreForTheNextSink) {
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_EQ(options_.back().transactional_id, "");
  EXPECT_FALSE(options_.back().one_at_a_time);
  handle_.SetTransactionalId("id");
  handle_.SetOneAtATime(true);
  Close();
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_EQ(options_.back().transactional_id, "id");
  EXPECT_TRUE(options_.back().one_at_a_time);
  handle_.SetOneAtATime(false);
  Close();
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_FALSE(options_.back().one_at_a_time);
}

TEST_F(SinkHandleTest, WithoutASinkNothingIsSet) {
  refusal_ = absl::UnavailableError("no descriptor is left");
  EXPECT_TRUE(absl::IsUnavailable(handle_.Start()));
  EXPECT_EQ(handle_.sink(), nullptr);
  EXPECT_TRUE(listener_.sinks.empty());
  EXPECT_EQ(handle_.Health().brokers_up, 0u);
  handle_.Interrupt();
}

// The pause is ours, and not a silence of the brokers.
TEST_F(SinkHandleTest, P10ThePauseBetweenSinksDoesNotCountAsSilence) {
  const auto silence = [this] {
    return Clock::now() - handle_.Health().heard_at;
  };
  EXPECT_LT(silence(), seconds(1));
  ASSERT_TRUE(handle_.Start().ok());
  Close();
  const auto before = silence();
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_LT(silence(), before + milliseconds(30));
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_LT(silence(), before + milliseconds(30));
  EXPECT_GE(silence(), before);
}

TEST_F(SinkHandleTest, P10AMissingTopicStaysSoUntilItTakesARecord) {
  ASSERT_TRUE(handle_.Start().ok());
  sink_->SetMissingTopic("t");
  EXPECT_EQ(handle_.Health().missing_topic, "t");
  Close();
  EXPECT_EQ(handle_.Health().missing_topic, "t");
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_EQ(handle_.Health().missing_topic, "t") << "nobody has asked yet";
  sink_->SetMissingTopic("other");
  EXPECT_EQ(handle_.Health().missing_topic, "other");
  sink_->SetMissingTopic("");
  Record record;
  record.topic = "u";
  ASSERT_TRUE(sink_->Produce(record, 1).ok());
  EXPECT_EQ(handle_.Health().missing_topic, "t");
  record.topic = "t";
  ASSERT_TRUE(sink_->Produce(record, 2).ok());
  EXPECT_EQ(handle_.Health().missing_topic, "");
  Close();
  ASSERT_TRUE(handle_.Start().ok());
  EXPECT_EQ(handle_.Health().missing_topic, "");
}

TEST_F(SinkHandleTest, ClosingReportsWhatIsLeft) {
  ASSERT_TRUE(handle_.Start().ok());
  Record record;
  record.topic = "t";
  ASSERT_TRUE(sink_->Produce(record, 1).ok());
  sink_->SetSilent();
  Close();
  EXPECT_EQ(listener_.undelivered, 1);
  bool is_closed = false;
  boost::asio::co_spawn(
      io_,
      [&]() -> boost::asio::awaitable<void> {
        co_await handle_.Close(Clock::now());
        is_closed = true;
      },
      boost::asio::detached);
  Turn();
  EXPECT_TRUE(is_closed) << "there is none";
}

TEST_F(SinkHandleTest, P5ACommitIsInterruptedAtItsDeadline) {
  ASSERT_TRUE(handle_.Start().ok());
  const auto committed = Spawn(handle_.Commit(Clock::now() + milliseconds(40)));
  EXPECT_TRUE(transactions_.is_pending());
  EXPECT_EQ(transactions_.interrupted, 0);
  Turn(milliseconds(100));
  EXPECT_EQ(transactions_.interrupted, 1);
  ASSERT_TRUE(committed->has_value());
  EXPECT_TRUE(absl::IsUnavailable(**committed));
}

TEST_F(SinkHandleTest, P5AnAnswerInTimeIsThatOfTheBrokers) {
  ASSERT_TRUE(handle_.Start().ok());
  const auto committed = Spawn(handle_.Commit(Clock::now() + seconds(10)));
  EXPECT_FALSE(committed->has_value());
  transactions_.Answer(absl::AbortedError("fenced"));
  Turn();
  ASSERT_TRUE(committed->has_value());
  EXPECT_TRUE(absl::IsAborted(**committed));
  EXPECT_EQ(transactions_.interrupted, 0);
  const auto taken = Spawn(handle_.TakeOver(seconds(1)));
  transactions_.Answer(absl::OkStatus());
  Turn();
  ASSERT_TRUE(taken->has_value());
  EXPECT_TRUE((*taken)->ok());
}

}  // namespace
}  // namespace walpost
