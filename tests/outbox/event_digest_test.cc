#include "outbox/event_digest.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace walpost {
namespace {

Event MakeEvent() {
  Event event;
  event.id = "7";
  event.aggregate_type = "order";
  event.aggregate_id = "k";
  event.type = "Placed";
  event.payload = "{}";
  event.headers = "{}";
  return event;
}

TEST(EventDigestTest, StaysTheSameInEveryRelease) {
  EXPECT_EQ(EventDigest("public.outbox", MakeEvent()),
            "ifb879808fc745082211e1213");
  Event event = MakeEvent();
  event.id.reset();
  EXPECT_EQ(EventDigest("public.outbox", event), "fbeed54c70d7b15abcd7ab0f1");
}

TEST(EventDigestTest, DependsOnSourceAndIdAlone) {
  Event event = MakeEvent();
  const std::string digest = EventDigest("public.outbox", event);
  event.position = {Lsn(200), 3};
  event.payload.reset();
  event.headers = "mapped otherwise";
  EXPECT_EQ(EventDigest("public.outbox", event), digest);
  EXPECT_NE(EventDigest("public.other", event), digest);
  event.id = "8";
  EXPECT_NE(EventDigest("public.outbox", event), digest);
}

TEST(EventDigestTest, WithoutAnIdEachFieldCounts) {
  std::set<std::string> digests;
  for (int field = 0; field < 6; ++field) {
    Event event = MakeEvent();
    event.id.reset();
    if (field == 1) event.aggregate_type = "orde";
    if (field == 2) event.aggregate_id.reset();
    if (field == 3) event.type = "";
    if (field == 4) event.payload = "{} ";
    if (field == 5) event.headers.reset();
    digests.insert(EventDigest("public.outbox", event));
  }
  EXPECT_EQ(digests.size(), 6u);
}

TEST(EventDigestTest, AnEmptyIdIsAnId) {
  Event empty = MakeEvent();
  empty.id = "";
  Event none = MakeEvent();
  none.id.reset();
  EXPECT_NE(EventDigest("public.outbox", empty),
            EventDigest("public.outbox", none));
}

TEST(EventDigestTest, OnlyDigestsOfIdsTellEventsApart) {
  Event event = MakeEvent();
  const std::string of_7 = EventDigest("public.outbox", event);
  event.id = "8";
  const std::string of_8 = EventDigest("public.outbox", event);
  event.id.reset();
  const std::string of_none = EventDigest("public.outbox", event);
  event.headers.reset();
  const std::string of_others = EventDigest("public.outbox", event);
  EXPECT_TRUE(AreOfDifferentEvents(of_7, of_8));
  EXPECT_FALSE(AreOfDifferentEvents(of_7, of_7));
  EXPECT_FALSE(AreOfDifferentEvents(of_7, of_none));
  EXPECT_FALSE(AreOfDifferentEvents(of_none, of_others));
  EXPECT_FALSE(AreOfDifferentEvents("", of_7));
}

}  // namespace
}  // namespace walpost
