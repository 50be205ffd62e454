#include "app/sink/transactional_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> SendersOf(const Config& config) {
  const std::vector<Route> routes = Route::CreateAll(config.outbox).value();
  return TransactionalIdsOf(config, routes, "7").senders;
}

Config MakeConfig() {
  Config config;
  config.postgres.slot = "orders";
  config.outbox.tables.resize(2);
  config.outbox.route.topic = "event.{aggregate_type}";
  return config;
}

TEST(TransactionalIdsTest, WithoutStoredEventsThereIsOne) {
  const Config config = MakeConfig();
  const std::vector<Route> routes = Route::CreateAll(config.outbox).value();
  const TransactionalIds ids = TransactionalIdsOf(config, routes, "7");
  EXPECT_EQ(ids.relay, "walpost-7-orders");
  EXPECT_THAT(ids.senders, IsEmpty());
}

TEST(TransactionalIdsTest, ParkedEventsAreReleased) {
  Config config = MakeConfig();
  config.on_error.Set(FindErrorClass("record_too_large"), ErrorAction::kPark);
  EXPECT_THAT(SendersOf(config), ElementsAre("walpost-7-orders-released"));
}

TEST(TransactionalIdsTest, DeadLettersInPostgresAreRetried) {
  Config config = MakeConfig();
  config.outbox.dead_letter.store = DeadLetterOptions::Store::kPostgres;
  EXPECT_THAT(SendersOf(config), ElementsAre("walpost-7-orders-retried"));
}

TEST(TransactionalIdsTest, TheInitialSnapshotHasOne) {
  Config config = MakeConfig();
  config.postgres.initial_snapshot = true;
  EXPECT_THAT(SendersOf(config), ElementsAre("walpost-7-orders-snapshot"));
}

TEST(TransactionalIdsTest, EachTopicThatCanBeIsolatedHasOne) {
  Config config = MakeConfig();
  config.parking.isolate_after = std::chrono::seconds(30);
  config.outbox.tables[1].topic = "bills";
  EXPECT_THAT(SendersOf(config),
              ElementsAre("walpost-7-orders-released",
                          "walpost-7-orders-released-bills",
                          "walpost-7-orders-released-event.walpost-check"));
}

}  // namespace
}  // namespace walpost
