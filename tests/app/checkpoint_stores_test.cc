#include "app/checkpoint/checkpoint_stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <optional>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Store = CheckpointOptions::Store;

class CheckpointStoresTest : public ::testing::Test {
 protected:
  CheckpointStoresTest() {
    config_.postgres.slot = "orders";
    config_.kafka.brokers = "b1:9092, b2:9092";
    config_.checkpoint.path = ::testing::TempDir() + "stores test";
    checkpoint_.slot = "orders";
    checkpoint_.system_identifier = "7";
  }
  ~CheckpointStoresTest() override {
    std::filesystem::remove(config_.checkpoint.path);
    std::filesystem::remove(config_.checkpoint.path + ".lock");
  }

  std::unique_ptr<CheckpointStore> Make(Store store) {
    config_.checkpoint.store = store;
    return MakeCheckpointStore(io_.get_executor(), config_);
  }

  std::string HowToRemove(Store store) {
    return Make(store)->HowToRemove(checkpoint_);
  }

  // Of Load or LoadUnlocked.
  absl::Status StatusOf(
      CheckpointStore& store,
      void (CheckpointStore::*load)(CheckpointStore::Loaded done)) {
    absl::Status status = absl::InternalError("no answer");
    (store.*load)([&status](absl::StatusOr<std::optional<Checkpoint>> loaded) {
      status = loaded.status();
    });
    io_.restart();
    io_.run();
    return status;
  }

  boost::asio::io_context io_;
  Config config_;
  Checkpoint checkpoint_;
};

TEST_F(CheckpointStoresTest, EveryStoreButNoneIsMadeAndSaysHowToRemoveFromIt) {
  for (const auto& [name, store] : CheckpointOptions::kStores) {
    const std::unique_ptr<CheckpointStore> made = Make(store);
    ASSERT_EQ(made == nullptr, store == Store::kNone) << name;
    if (made == nullptr) continue;
    EXPECT_THAT(made->Name(), Not(IsEmpty())) << name;
    EXPECT_THAT(made->HowToRemove(checkpoint_), Not(IsEmpty())) << name;
    EXPECT_THAT(std::string(CheckpointOptions::kKeepers),
                HasSubstr(std::string(name)));
  }
}

TEST_F(CheckpointStoresTest, CommandsThatRemoveCanBePasted) {
  EXPECT_EQ(HowToRemove(Store::kFile), "rm '" + config_.checkpoint.path + "'");
  EXPECT_EQ(HowToRemove(Store::kPostgres),
            "DELETE FROM \"public\".\"walpost_checkpoint\" WHERE slot = "
            "'orders'");
  EXPECT_EQ(HowToRemove(Store::kKafka),
            "echo orders@7: | kcat -b b1:9092,b2:9092 -P -t "
            "walpost.checkpoint -K : -Z");
}

TEST_F(CheckpointStoresTest, SecuredBrokersNeedMoreThanTheCommand) {
  config_.kafka.properties.emplace_back("security.protocol",
                                        ReloadableText("SSL"));
  config_.transactions.is_on = true;
  EXPECT_THAT(HowToRemove(Store::kKafka),
              HasSubstr(" -Z (and -X for kafka.properties)"));
}

TEST_F(CheckpointStoresTest, ALockedFileIsReadWithoutTheLockOnly) {
  const auto holder = Make(Store::kFile);
  EXPECT_TRUE(StatusOf(*holder, &CheckpointStore::Load).ok());
  const auto other = Make(Store::kFile);
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(*other, &CheckpointStore::Load)));
  EXPECT_TRUE(StatusOf(*other, &CheckpointStore::LoadUnlocked).ok());
}

}  // namespace
}  // namespace walpost
