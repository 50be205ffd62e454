#include "postgres/slot/slot.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(SlotTest, ThePlainSqlRunsOnEveryVersion) {
  EXPECT_EQ(
      CreateSlotSql("walpost", SlotFailover::kNo),
      "SELECT pg_create_logical_replication_slot('walpost', 'pgoutput');");
}

TEST(SlotTest, FailoverIsNamed) {
  EXPECT_EQ(CreateSlotSql("orders_1", SlotFailover::kYes),
            "SELECT pg_create_logical_replication_slot('orders_1', "
            "'pgoutput', temporary => false, twophase => false, "
            "failover => true);");
}

}  // namespace
}  // namespace walpost
