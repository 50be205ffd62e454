// The configured checkpoint store as a session uses it: here a file.
#include "app/checkpoint/checkpoint_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/reason_code.h"
#include "loop/blocking_call.h"
#include "outbox/numbering.h"
#include "support/fake_postgres.h"
#include "support/memory_sink.h"
#include "support/mock_kafka.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;

class CheckpointServiceTest : public ::testing::Test {
 protected:
  CheckpointServiceTest() {
    std::string name = "/tmp/walpost_checkpoint_service_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    config_.postgres.slot = "orders";
    config_.outbox.tables.resize(1);
    config_.outbox.tables[0].state.transaction_id = "tx";
    config_.checkpoint.store = CheckpointOptions::Store::kFile;
    config_.checkpoint.path = directory_ + "/checkpoint";
    sender_ = std::make_unique<Sender>(
        RecordBuilder::Create(config_.outbox).value(), config_.window);
    sender_->SetSink(&sink_);
    progress_ = std::make_unique<WalProgress>(*sender_);
    MakeService();
  }
  ~CheckpointServiceTest() override {
    service_.reset();
    std::filesystem::remove_all(directory_);
  }

  void MakeService() {
    service_.reset();
    // The lock of the file ends with the thread of the last call.
    AwaitBlockedThreads(seconds(5));
    service_ = std::make_unique<CheckpointService>(
        context_.get_executor(), config_, *progress_, nullptr, passed_over_,
        [this] { ++saved_; });
  }
  absl::Status Load() { return Await(context_, service_->Load()); }
  static CheckpointScope Session() {
    CheckpointScope session;
    session.system_identifier = "77";
    session.timeline = 3;
    session.birth = Lsn(0x50);
    session.coverage = "16388:690";
    return session;
  }
  void Acknowledge(uint64_t lsn) {
    const std::vector<Value> references = {Value("order")};
    Event event;
    event.position = {Lsn(lsn), 1};
    event.payload = "v";
    event.references = references;
    progress_->OnEvent(event, absl::OkStatus());
    progress_->OnTransactionEnd(Lsn(lsn + 0x10));
    sender_->OnAcknowledged(sink_.accepted().back().sequence, WallTime());
  }
  void Save() {
    const int before = saved_;
    service_->SaveIfDue(/*hurry=*/true);
    context_.restart();
    while (saved_ == before && context_.run_one_for(seconds(5)) > 0) continue;
    EXPECT_GT(saved_, before);
  }
  void Keep(Gap gap) {
    Await(context_, [&]() -> boost::asio::awaitable<bool> {
      Gap kept = std::move(gap);
      CheckpointScope session = Session();
      co_await service_->Keep(std::move(kept), std::move(session));
      co_return true;
    }());
  }
  std::optional<Checkpoint> Stored() {
    const auto stored =
        Await(context_, ReadCheckpoint(context_.get_executor(), config_));
    EXPECT_TRUE(stored.ok()) << stored.status();
    return *stored;
  }
  RelaySigns Signs() const {
    RelaySigns signs;
    service_->AddTo(signs);
    return signs;
  }

  boost::asio::io_context context_;
  std::string directory_;
  Config config_;
  testing::MemorySink sink_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<WalProgress> progress_;
  PassedOverRows passed_over_{PassedOverRows::Kept::kInCheckpoints};
  int saved_ = 0;
  std::unique_ptr<CheckpointService> service_;
};

TEST_F(CheckpointServiceTest, P2TheStoredLsnComesBeforeTheConfirmedOne) {
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(service_->loaded(), std::nullopt);
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  EXPECT_LT(service_->writer().confirmable(), Lsn(0x110));
  Save();
  EXPECT_EQ(service_->writer().confirmable(), Lsn(0x110));
  const auto stored = Stored();
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->slot, "orders");
  EXPECT_EQ(stored->system_identifier, "77");
  EXPECT_EQ(stored->timeline, 3u);
  EXPECT_EQ(stored->birth, Lsn(0x50));
  EXPECT_EQ(stored->coverage, "16388:690");
  EXPECT_EQ(stored->position, (Position{Lsn(0x100), 1}));
  EXPECT_EQ(stored->confirmed, Lsn(0x110));
  EXPECT_EQ(stored->numbering,
            NumberingOf(config_.outbox, config_.postgres.publication));
}

TEST_F(CheckpointServiceTest, P5ANewProcessContinuesFromIt) {
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  Save();
  MakeService();
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(service_->loaded().has_value());
  EXPECT_EQ(service_->loaded()->position, (Position{Lsn(0x100), 1}));
  RelayStatus status;
  service_->Begin(Session(), nullptr);
  service_->AddTo(status);
  EXPECT_EQ(status.checkpoint.confirmed, Lsn(0x110));
  EXPECT_THAT(status.checkpoint_store.value_or(""),
              HasSubstr(config_.checkpoint.path));
}

TEST_F(CheckpointServiceTest, P5APositionThatCountsOtherEventsIsNone) {
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  Save();
  config_.outbox.messages.prefix = "outbox";
  MakeService();
  ASSERT_TRUE(Load().ok());
  EXPECT_NE(service_->loaded()->position, (Position{Lsn(0x100), 1}));
  EXPECT_EQ(service_->loaded()->confirmed, Lsn(0x110));
}

TEST_F(CheckpointServiceTest, P9ACheckpointOfAnotherSlotIsRefused) {
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  Save();
  config_.postgres.slot = "other";
  MakeService();
  const absl::Status loaded = Load();
  EXPECT_EQ(ReasonCodeOf(loaded), kReasonCheckpointOfAnotherSlot) << loaded;
  EXPECT_TRUE(absl::IsFailedPrecondition(loaded));
}

TEST_F(CheckpointServiceTest, P9AnUnreadableCheckpointIsNoMissingOne) {
  std::ofstream(config_.checkpoint.path) << "something else";
  const absl::Status loaded = Load();
  EXPECT_TRUE(absl::IsFailedPrecondition(loaded)) << loaded;
  EXPECT_EQ(ReasonCodeOf(loaded), kReasonCheckpointUnreadable);
}

TEST_F(CheckpointServiceTest, P9AGapIsKeptAndSurvivesARestart) {
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  Save();
  service_->Pause();
  Keep({kGapWalForked, "the WAL has forked"});
  EXPECT_THAT(Stored()->gap, HasSubstr(kGapWalForked));
  EXPECT_EQ(Stored()->confirmed, Lsn(0x110)) << "a gap is judged by it";
  MakeService();
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(service_->loaded()->gap, HasSubstr(kGapWalForked));
}

TEST_F(CheckpointServiceTest, AnErrorOfSavingShowsUntilOneSucceeds) {
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  const std::string away = directory_ + "-away";
  std::filesystem::rename(directory_, away);
  Save();
  EXPECT_FALSE(Signs().checkpoint_trouble.ok());
  EXPECT_TRUE(service_->writer().failing_since().has_value());
  EXPECT_LT(service_->writer().confirmable(), Lsn(0x110));
  std::filesystem::rename(away, directory_);
  Acknowledge(0x200);
  const MonotonicTime end = std::chrono::steady_clock::now() + seconds(10);
  while (!Signs().checkpoint_trouble.ok() &&
         std::chrono::steady_clock::now() < end) {
    service_->SaveIfDue(/*hurry=*/true);
    context_.restart();
    context_.run_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(Signs().checkpoint_trouble.ok());
  EXPECT_EQ(service_->writer().confirmable(), Lsn(0x210));
}

TEST_F(CheckpointServiceTest, NothingIsSavedBetweenTwoSessions) {
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  Save();
  service_->Pause();
  Acknowledge(0x200);
  service_->SaveIfDue(/*hurry=*/true);
  EXPECT_FALSE(service_->writer().is_busy());
  EXPECT_EQ(Stored()->confirmed, Lsn(0x110));
}

// What the publication does not cover is not sent, and no horizon passes it.
TEST_F(CheckpointServiceTest, P9NoHorizonPassesAPublicationThatWasWrong) {
  const auto horizon = [this](uint64_t transaction, const char* trouble) {
    SlotReport report;
    report.publication_trouble = trouble;
    report.horizon.horizon.transaction_id = transaction;
    report.horizon.wal_end = Lsn(0x10);
    service_->OnReport(report);
    Acknowledge(0x100 * transaction);
    Save();
    return Stored()->horizon.transaction_id;
  };
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  EXPECT_EQ(horizon(6, ""), 0u) << "it may be from before the session";
  EXPECT_EQ(horizon(7, ""), 7u);
  EXPECT_EQ(horizon(8, "does not publish inserts"), 7u);
  EXPECT_EQ(horizon(9, ""), 7u) << "until a restart";
}

TEST_F(CheckpointServiceTest, WithoutAStoreAcknowledgedIsConfirmable) {
  config_.checkpoint.store = CheckpointOptions::Store::kNone;
  MakeService();
  ASSERT_TRUE(Load().ok());
  service_->Begin(Session(), nullptr);
  Acknowledge(0x100);
  EXPECT_EQ(service_->writer().confirmable(), Lsn(0x110));
  Keep({kGapWalForked, "the WAL has forked"});
  RelayStatus status;
  service_->AddTo(status);
  EXPECT_EQ(status.checkpoint_store, std::nullopt);
  EXPECT_EQ(status.restart_lsn, Lsn(0x110));
  EXPECT_EQ(Stored(), std::nullopt);
}

TEST_F(CheckpointServiceTest, P9TheKnownCoverageIsThatOfBothRecords) {
  const auto known = [this](const std::optional<BirthRecord>& birth) {
    const auto read = Await(
        context_, ReadKnownCoverage(context_.get_executor(), config_, birth));
    EXPECT_TRUE(read.ok()) << read.status();
    return *read;
  };
  EXPECT_EQ(known(std::nullopt), "");
  Checkpoint checkpoint;
  checkpoint.slot = "orders";
  checkpoint.coverage = "16388:690,app.a=1.r2:3";
  ASSERT_TRUE(Await(context_, StoreCheckpoint(context_.get_executor(), config_,
                                              checkpoint))
                  .ok());
  EXPECT_EQ(known(std::nullopt), checkpoint.coverage);
  BirthRecord birth;
  birth.coverage = "16388:690,app.b=4.r5:6";
  EXPECT_THAT(known(birth), HasSubstr("app.a=1.r2:3"));
  EXPECT_THAT(known(birth), HasSubstr("app.b=left.4.r5:6"));
}

// In the topic of checkpoints, after the brokers were away.
TEST_F(CheckpointServiceTest, P10AReadCheckpointIsNotUnreadAnyMore) {
  testing::MockKafka kafka;
  FakePostgres server(context_);
  testing::AnswerWalSource(server);
  kafka.CreateTopic("walpost", 1);
  config_.postgres.server = server.options();
  config_.postgres.publication = "outbox";
  config_.kafka.brokers = kafka.brokers();
  config_.checkpoint.store = CheckpointOptions::Store::kKafka;
  config_.checkpoint.topic = "walpost";
  MakeService();
  EXPECT_EQ(Signs().unread_checkpoint, "");
  std::optional<absl::Status> loaded;
  boost::asio::co_spawn(
      context_,
      [&]() -> boost::asio::awaitable<void> {
        loaded = co_await service_->Load();
      },
      boost::asio::detached);
  context_.restart();
  while (Signs().unread_checkpoint.empty() && !loaded) context_.run_one();
  EXPECT_EQ(Signs().unread_checkpoint, "topic walpost");
  EXPECT_LT(Signs().checkpoint_unread_for, seconds(30));
  while (!loaded) context_.run_one();
  EXPECT_TRUE(loaded->ok()) << *loaded;
  EXPECT_EQ(Signs().unread_checkpoint, "");
}

}  // namespace
}  // namespace walpost
