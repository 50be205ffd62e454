// Against a mock cluster; rights and compaction are in tests/e2e.
#include "kafka/checkpoint/checkpoint_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>

#include "checkpoint/checkpoint_codec.h"
#include "support/mock_kafka.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MockKafka;
using ::testing::Pair;

// Nobody listens there.
ProducerOptions Unreachable() {
  ProducerOptions options;
  options.brokers = "127.0.0.1:1";
  return options;
}

Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.system_identifier = "7";
  checkpoint.timeline = 1;
  checkpoint.slot = "walpost";
  return checkpoint;
}

TEST(CheckpointTopicTest, APropertyThatIsMalformedNamesItself) {
  boost::asio::io_context io(1);
  ProducerOptions options = Unreachable();
  options.properties.emplace_back("security.protocol", "hunter2");
  CheckpointTopic store(io.get_executor(), options, "t", "walpost");
  absl::Status status;
  store.Load([&](auto loaded) { status = loaded.status(); });
  io.run();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("topic t"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("security.protocol"));
}

TEST(CheckpointTopicTest, EndsSoonAndSilentlyWhileItLooksForBrokers) {
  boost::asio::io_context io(1);
  auto store = std::make_unique<CheckpointTopic>(io.get_executor(),
                                                 Unreachable(), "t", "walpost");
  bool called = false;
  store->Save(Example(), [&](const absl::Status&) { called = true; });
  const auto begin = std::chrono::steady_clock::now();
  store.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  io.run();
  EXPECT_FALSE(called);
}

// ---- Against brokers: what is in the log decides what is loaded.

constexpr char kTopic[] = "checkpoints";
constexpr char kKey[] = "walpost@7";
constexpr int kProduceApi = 0;

Checkpoint At(uint64_t confirmed) {
  Checkpoint checkpoint = Example();
  checkpoint.confirmed = Lsn(confirmed);
  return checkpoint;
}

class CheckpointTopicLogTest : public ::testing::Test {
 protected:
  CheckpointTopicLogTest() {
    kafka_.CreateTopic(kTopic, 1);
    options_.brokers = kafka_.brokers();
  }

  std::unique_ptr<CheckpointTopic> Store(CheckpointTopic::Access access,
                                         const char* topic = kTopic,
                                         SourceIdentity identity = {"7",
                                                                    false}) {
    auto store = std::make_unique<CheckpointTopic>(io_.get_executor(), options_,
                                                   topic, "walpost", access);
    store->SetSource(std::move(identity));
    return store;
  }

  absl::StatusOr<std::optional<Checkpoint>> Load(const char* topic = kTopic,
                                                 SourceIdentity identity = {
                                                     "7", false}) {
    const auto store =
        Store(CheckpointTopic::Access::kRead, topic, std::move(identity));
    std::optional<absl::StatusOr<std::optional<Checkpoint>>> result;
    store->Load([&](auto loaded) { result = std::move(loaded); });
    RunUntil([&] { return result.has_value(); });
    return *std::move(result);
  }

  // The LSN of what is loaded; 0/0: there is none.
  Lsn Loaded() {
    const auto loaded = Load();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() && *loaded ? (*loaded)->confirmed : Lsn();
  }

  absl::Status Save(CheckpointTopic& store, const Checkpoint& checkpoint,
                    bool replace = false) {
    std::optional<absl::Status> result;
    const auto saved = [&](absl::Status status) { result = std::move(status); };
    replace ? store.Replace(checkpoint, saved) : store.Save(checkpoint, saved);
    RunUntil([&] { return result.has_value(); });
    return *std::move(result);
  }

  void Write(const std::string& key, const Checkpoint& checkpoint) {
    kafka_.Write(kTopic, key, EncodeCheckpoint(checkpoint));
  }

  void RunUntil(const std::function<bool()>& is_done) {
    io_.restart();
    const auto guard = boost::asio::make_work_guard(io_);
    while (!is_done()) io_.run_one();
  }

  MockKafka kafka_;
  boost::asio::io_context io_{1};
  ProducerOptions options_;
};

TEST_F(CheckpointTopicLogTest, NothingWasSavedInATopicThatIsEmptyOrMissing) {
  EXPECT_EQ(Loaded(), Lsn());
  const auto missing = Load("no-such-topic");
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_FALSE(missing->has_value());
}

TEST_F(CheckpointTopicLogTest, LoadsTheNewestRecordOfItsKey) {
  Write(kKey, At(0x100));
  Write(kKey, At(0x300));
  Write("walpost2@7", At(0x900));  // another slot
  Write("other@7", At(0x900));
  EXPECT_EQ(Loaded(), Lsn(0x300));
}

TEST_F(CheckpointTopicLogTest, ASlotOfASimilarNameIsNotOurs) {
  Write("walpost2@7", At(0x900));
  EXPECT_EQ(Loaded(), Lsn());
}

// Of an instance that was suspended meanwhile.
TEST_F(CheckpointTopicLogTest, P1AnOlderCheckpointThatCameLaterDoesNotCount) {
  Write(kKey, At(0x300));
  Write(kKey, At(0x200));
  EXPECT_EQ(Loaded(), Lsn(0x300));
}

TEST_F(CheckpointTopicLogTest, ARecordWithoutAValueForgetsWhatCameBefore) {
  Write(kKey, At(0x300));
  kafka_.Write(kTopic, kKey, std::nullopt);
  EXPECT_EQ(Loaded(), Lsn());
  Write(kKey, At(0x200));
  EXPECT_EQ(Loaded(), Lsn(0x200));
}

TEST_F(CheckpointTopicLogTest, ARecordThatCannotBeReadIsNotTakenForNone) {
  Write(kKey, At(0x300));
  kafka_.Write(kTopic, kKey, "nonsense");
  const absl::Status status = Load().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("echo walpost@7: | kcat -b " + kafka_.brokers() +
                        " -P -t checkpoints -K : -Z"));
}

// It has moved here, or the two share a topic.
TEST_F(CheckpointTopicLogTest, P9ACheckpointOfAnotherSystemIsShown) {
  Checkpoint foreign = At(0x300);
  foreign.system_identifier = "8";
  Write("walpost@8", foreign);
  const auto loaded = Load();
  ASSERT_TRUE(loaded.ok() && loaded->has_value());
  EXPECT_EQ((*loaded)->system_identifier, "8");
  const auto with_birth_record = Load(kTopic, {"7", true});
  ASSERT_TRUE(with_birth_record.ok());
  EXPECT_FALSE(with_birth_record->has_value());
  Write(kKey, At(0x100));
  EXPECT_EQ(Loaded(), Lsn(0x100));
}

TEST_F(CheckpointTopicLogTest, ATopicOfSeveralPartitionsIsRefused) {
  kafka_.CreateTopic("wide", 2);
  const absl::Status status = Load("wide").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 2 partitions"));
}

TEST_F(CheckpointTopicLogTest, WhatIsSavedIsLoaded) {
  const auto store = Store(CheckpointTopic::Access::kReadAndWrite);
  ASSERT_EQ(Save(*store, At(0x100)), absl::OkStatus());
  EXPECT_EQ(Loaded(), Lsn(0x100));
  ASSERT_EQ(Save(*store, At(0x200)), absl::OkStatus());
  EXPECT_EQ(Loaded(), Lsn(0x200));
  EXPECT_THAT(kafka_.Log(kTopic),
              ElementsAre(Pair(kKey, EncodeCheckpoint(At(0x100))),
                          Pair(kKey, EncodeCheckpoint(At(0x200)))));
}

TEST_F(CheckpointTopicLogTest, P2ACheckpointThatWasNotWrittenIsNotSaved) {
  const auto store = Store(CheckpointTopic::Access::kReadAndWrite);
  kafka_.FailOnce(kProduceApi, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  EXPECT_FALSE(Save(*store, At(0x100)).ok());
  EXPECT_EQ(Loaded(), Lsn());
  EXPECT_EQ(Save(*store, At(0x200)), absl::OkStatus())
      << "with another producer";
  EXPECT_EQ(Loaded(), Lsn(0x200));
}

// kAborted would mean that another instance has written a later one.
TEST_F(CheckpointTopicLogTest, AProducerThatFailedIsNotAnInstanceThatTookOver) {
  const auto store = Store(CheckpointTopic::Access::kReadAndWrite);
  kafka_.FailOnce(kProduceApi, RD_KAFKA_RESP_ERR_UNKNOWN);
  const absl::Status status = Save(*store, At(0x100));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(Save(*store, At(0x200)), absl::OkStatus());
}

// The slot was made again, on a server that was restored: it stands earlier.
TEST_F(CheckpointTopicLogTest, P9ReplaceRemovesEvenAFurtherCheckpoint) {
  Write(kKey, At(0x300));
  const auto store = Store(CheckpointTopic::Access::kReadAndWrite);
  ASSERT_EQ(Save(*store, At(0x100), /*replace=*/true), absl::OkStatus());
  EXPECT_EQ(Loaded(), Lsn(0x100));
  EXPECT_THAT(kafka_.Log(kTopic),
              ElementsAre(Pair(kKey, EncodeCheckpoint(At(0x300))),
                          Pair(kKey, std::nullopt),
                          Pair(kKey, EncodeCheckpoint(At(0x100)))));
  ASSERT_EQ(Save(*store, At(0x200)), absl::OkStatus());
  EXPECT_EQ(kafka_.Log(kTopic).size(), 4u) << "it is not removed again";
}

// An older release wrote the slot's name alone.
TEST_F(CheckpointTopicLogTest, P9ReplaceRemovesTheKeyOfAnOlderReleaseToo) {
  Write("walpost", At(0x300));
  const auto store = Store(CheckpointTopic::Access::kReadAndWrite);
  ASSERT_EQ(Save(*store, At(0x100), /*replace=*/true), absl::OkStatus());
  EXPECT_EQ(Loaded(), Lsn(0x100));
  const auto log = kafka_.Log(kTopic);
  ASSERT_EQ(log.size(), 4u);
  EXPECT_THAT(log[1], Pair("walpost", std::nullopt));
  EXPECT_THAT(log[2], Pair(kKey, std::nullopt));
}

}  // namespace
}  // namespace walpost
