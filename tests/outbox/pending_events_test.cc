#include "outbox/pending_events.h"

#include <gtest/gtest.h>

#include "outbox/event_set.h"

namespace walpost {
namespace {

Event WithId(std::string_view id, uint64_t ordinal = 1) {
  Event event;
  event.id = id;
  event.position = {Lsn(16), ordinal};
  return event;
}

TEST(PendingEventsTest, WhatNoTableHasIsLeft) {
  PendingEvents pending;
  EXPECT_EQ(pending.size(), 0u);
  pending.Add(WithId("1", 1));
  pending.Add(WithId("2", 2));
  Event row = WithId("1", 7);  // a row has another position, or none
  pending.Remove(row);
  pending.Remove(WithId("3"));
  EXPECT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending.ToText(), "id 2 at 0/10/2");
  pending.Remove(WithId("2"));
  EXPECT_EQ(pending.size(), 0u);
}

// Its row may have been updated since, and then has another content.
TEST(PendingEventsTest, ARowWithAnotherContentIsAnotherEvent) {
  PendingEvents pending;
  pending.Add(WithId("1"));
  Event row = WithId("1");
  row.payload = "{}";
  pending.Remove(row);
  EXPECT_EQ(pending.size(), 1u);
}

TEST(PendingEventsTest, WithoutAnIdNoRowIsIt) {
  PendingEvents pending;
  Event event;
  event.position = {Lsn(16), 1};
  pending.Add(event);
  pending.Remove(event);
  EXPECT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending.ToText(), "id (none) at 0/10/1");
}

TEST(PendingEventsTest, BeyondTheLimitTheyAreLeft) {
  PendingEvents pending;
  for (size_t n = 0; n <= EventSet::kMax; ++n) {
    const std::string id = std::to_string(n);
    pending.Add(WithId(id));
  }
  EXPECT_EQ(pending.ToText(),
            "id 0 at 0/10/1, id 1 at 0/10/1, id 2 at 0/10/1, ...");
  for (size_t n = 0; n <= EventSet::kMax; ++n) {
    const std::string id = std::to_string(n);
    pending.Remove(WithId(id));
  }
  EXPECT_EQ(pending.size(), 1u);
}

}  // namespace
}  // namespace walpost
