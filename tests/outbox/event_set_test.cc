#include "outbox/event_set.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

Event MakeEvent() {
  Event event;
  event.id = "17";
  event.aggregate_type = "order";
  event.aggregate_id = "42";
  event.payload = "{}";
  return event;
}

TEST(EventSetTest, RecognisesAnEventByItsContent) {
  EventSet set;
  EXPECT_FALSE(set.Has(MakeEvent()));
  EXPECT_TRUE(set.Add(MakeEvent()));
  Event again = MakeEvent();
  again.position = {Lsn(7), 3};
  again.commit_time = WallTime(std::chrono::seconds(5));
  again.xid = Xid(9);
  EXPECT_TRUE(set.Has(again)) << "on another way";
}

TEST(EventSetTest, EachPartOfTheContentCounts) {
  const std::vector<Value> references = {"order"};
  std::vector<Event> others(8, MakeEvent());
  others[0].source = 1;
  others[1].id = "18";
  others[2].aggregate_type = "invoice";
  others[3].aggregate_id = std::nullopt;
  others[4].type = "paid";
  others[5].payload = "";
  others[6].headers = "{}";
  others[7].references = references;
  EventSet set;
  set.Add(MakeEvent());
  for (const Event& other : others) EXPECT_FALSE(set.Has(other));
}

TEST(EventSetTest, ThePartsAreKeptApart) {
  Event one = MakeEvent();
  one.aggregate_id = "1";
  one.type = "2";
  Event other = MakeEvent();
  other.aggregate_id = "12";
  other.type = "";
  EventSet set;
  set.Add(one);
  EXPECT_FALSE(set.Has(other));
}

TEST(EventSetTest, AnEventWithoutAnIdIsNotRecognised) {
  Event event = MakeEvent();
  event.id = std::nullopt;
  EventSet set;
  EXPECT_FALSE(set.Add(event));
  EXPECT_FALSE(set.Has(event));
}

TEST(EventSetTest, IsBounded) {
  EventSet set;
  Event event = MakeEvent();
  std::string id;
  for (size_t i = 0; i < EventSet::kMax; ++i) {
    id = std::to_string(i);
    event.id = id;
    ASSERT_TRUE(set.Add(event));
  }
  event.id = "one more";
  EXPECT_FALSE(set.Add(event));
  EXPECT_EQ(set.size(), EventSet::kMax);
}

}  // namespace
}  // namespace walpost
