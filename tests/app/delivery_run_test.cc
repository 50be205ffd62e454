#include "app/sink/delivery_run.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/memory_sink.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using testing::MemorySink;

constexpr MonotonicTime kStart{std::chrono::hours(1)};

class DeliveryRunTest : public ::testing::Test {
 protected:
  DeliveryRunTest() {
    OutboxOptions outbox;
    outbox.tables.resize(1);
    DeliveryRun::Options options;
    options.silence_limit = seconds(60);
    run_ = std::make_unique<DeliveryRun>(
        io_.get_executor(), RecordBuilder::Create(outbox).value(),
        [this](const SinkOptions&, RecordReports& reports,
               const std::function<void()>&) {
          auto sink = std::make_unique<MemorySink>(&reports);
          sink_ = sink.get();
          return absl::StatusOr<std::unique_ptr<Sink>>(std::move(sink));
        },
        std::move(options), nullptr);
  }

  void Send(uint64_t ordinal) {
    Event event;
    event.position = {Lsn(), ordinal};
    event.payload = "x";
    const std::vector<Value> references = {Value("order")};
    event.references = references;
    run_->sender().OnEvent(event);
  }
  bool IsSilentAt(MonotonicTime now) const {
    return absl::IsUnavailable(run_->SinkTrouble(now));
  }

  boost::asio::io_context io_;
  std::unique_ptr<DeliveryRun> run_;
  MemorySink* sink_ = nullptr;
};

TEST_F(DeliveryRunTest, BrokersThatAcknowledgeNothingAreGivenUp) {
  ASSERT_TRUE(run_->Start().ok());
  Send(1);
  run_->Tick(kStart);
  run_->Tick(kStart + seconds(30));
  EXPECT_FALSE(IsSilentAt(kStart + seconds(59)));
  EXPECT_TRUE(IsSilentAt(kStart + seconds(60)));
}

TEST_F(DeliveryRunTest, ARecordThatIsHeldWaitsForThemToo) {
  ASSERT_TRUE(run_->Start().ok());
  sink_->AnswerWith(absl::UnavailableError("no topic"));
  Send(1);
  run_->Tick(kStart);
  Send(1);
  EXPECT_TRUE(IsSilentAt(kStart + seconds(60)));
}

// A source that reads for minutes, and whose rows need not wait.
TEST_F(DeliveryRunTest, BrokersThatNobodyWaitedForAreNotSilent) {
  ASSERT_TRUE(run_->Start().ok());
  run_->Tick(kStart);
  EXPECT_FALSE(IsSilentAt(kStart + seconds(600)));
  Send(1);
  EXPECT_FALSE(IsSilentAt(kStart + seconds(600)));
  run_->Tick(kStart + seconds(600));
  EXPECT_FALSE(IsSilentAt(kStart + seconds(659)));
}

TEST_F(DeliveryRunTest, AnAcknowledgementEndsTheSilenceAtOnce) {
  ASSERT_TRUE(run_->Start().ok());
  Send(1);
  run_->Tick(kStart);
  sink_->Turn(kStart);
  EXPECT_FALSE(IsSilentAt(kStart + seconds(60)));
  Send(2);
  run_->Tick(kStart + seconds(60));
  EXPECT_FALSE(IsSilentAt(kStart + seconds(119)));
  EXPECT_TRUE(IsSilentAt(kStart + seconds(120)));
}

TEST_F(DeliveryRunTest, WithoutASinkNobodyIsSilent) {
  EXPECT_TRUE(run_->SinkTrouble(kStart).ok());
}

// The new sink has not asked for its topics yet.
TEST_F(DeliveryRunTest, P10AMissingTopicIsKnownAlsoWhileTheSinkIsReplaced) {
  ASSERT_TRUE(run_->Start().ok());
  sink_->SetMissingTopic("outbox.event.order");
  boost::asio::co_spawn(
      io_, run_->Close(std::chrono::steady_clock::now() + seconds(1)),
      boost::asio::detached);
  io_.poll();
  EXPECT_EQ(run_->missing_topic(), "outbox.event.order");
  sink_->Turn(kStart);
  io_.restart();
  io_.poll();
  EXPECT_EQ(run_->missing_topic(), "outbox.event.order");
  ASSERT_TRUE(run_->Start().ok());
  EXPECT_EQ(run_->missing_topic(), "outbox.event.order");
  Send(1);
  EXPECT_EQ(run_->missing_topic(), "");
}

}  // namespace
}  // namespace walpost
