#include "outbox/events_on_record.h"

#include <gtest/gtest.h>

#include "outbox/event_digest.h"

namespace walpost {
namespace {

constexpr Lsn kCommit(0x100);
const std::vector<std::string> kSources = {"public.outbox", "public.other"};

Event EventOf(Value id, size_t source = 0) {
  Event event;
  event.source = source;
  event.id = id;
  event.aggregate_id = "key";
  event.payload = "payload";
  event.position.commit_lsn = kCommit;
  return event;
}

std::string DigestOf(const Event& event) {
  return EventDigest(kSources[event.source], event);
}

EventsOnRecord With(const EventsOnRecord::Entry& entry) {
  EventsOnRecord events(kSources);
  events.Add(entry);
  return events;
}

TEST(EventsOnRecordTest, AnEventIsKnownBySourceAndId) {
  EventsOnRecord events =
      With({Disposition::kSkipped, DigestOf(EventOf("1")), {}});
  EXPECT_EQ(events.Find(EventOf("1")), Disposition::kSkipped);
  EXPECT_EQ(events.Find(EventOf("1")), Disposition::kSkipped);
  EXPECT_EQ(events.Find(EventOf("2")), std::nullopt);
  EXPECT_EQ(events.Find(EventOf("1", 1)), std::nullopt);
  EXPECT_EQ(events.Find(EventOf(std::nullopt)), std::nullopt);
}

TEST(EventsOnRecordTest, TheLastEntryOfAnEventCounts) {
  EventsOnRecord events =
      With({Disposition::kDeadLetter, DigestOf(EventOf("1")), {}});
  events.Add({Disposition::kDiscarded, DigestOf(EventOf("1")), {}});
  EXPECT_EQ(events.Find(EventOf("1")), Disposition::kDiscarded);
}

TEST(EventsOnRecordTest, AnEntryOfAnEventWithoutAnIdIsForOneOfEqualRows) {
  const Event event = EventOf(std::nullopt);
  EventsOnRecord events = With({Disposition::kSkipped, DigestOf(event), {}});
  events.Add({Disposition::kParked, DigestOf(event), {}});
  EXPECT_EQ(events.Find(event), Disposition::kParked);
  EXPECT_EQ(events.Find(event), Disposition::kSkipped);
  EXPECT_EQ(events.Find(event), std::nullopt);
}

TEST(EventsOnRecordTest, InTheWalTheTransactionCountsToo) {
  const Event event = EventOf("1");
  EventsOnRecord events =
      With({Disposition::kParked, DigestOf(event), kCommit});
  EXPECT_EQ(events.FindInWal(event), Disposition::kParked);
  Event later = event;
  later.position.commit_lsn = Lsn(0x200);
  EXPECT_EQ(events.FindInWal(later), std::nullopt);
  EXPECT_EQ(events.Find(later), Disposition::kParked);
  // Of another server: its LSNs are others.
  EventsOnRecord elsewhere =
      With({Disposition::kParked, DigestOf(event), Lsn()});
  EXPECT_EQ(elsewhere.FindInWal(event), std::nullopt);
  EXPECT_EQ(elsewhere.Find(event), Disposition::kParked);
}

TEST(EventsOnRecordTest, AnotherServiceMayHaveTheSameIds) {
  using Content = EventsOnRecord::Content;
  const Event event = EventOf("1");
  const std::string digest = DigestOf(event);
  const Content cases[] = {
      {"other", 7, Sha256("payload")},
      {std::nullopt, 7, Sha256("payload")},
      {"key", 8, std::nullopt},
      {"key", 7, Sha256("Payload")},
  };
  for (const Content& content : cases) {
    EventsOnRecord other =
        With({Disposition::kDeadLetter, digest, kCommit, content});
    EXPECT_EQ(other.Find(event), std::nullopt);
    EXPECT_EQ(other.FindInWal(event), std::nullopt);
    // Its own event is found, whichever was added last.
    other.Add({Disposition::kSkipped, digest, kCommit});
    other.Add({Disposition::kDeadLetter, digest, kCommit, content});
    EXPECT_EQ(other.Find(event), Disposition::kSkipped);
    EXPECT_EQ(other.FindInWal(event), Disposition::kSkipped);
  }
  for (const Content& content :
       {Content{"key", 7, Sha256("payload")}, Content{"key", 7, {}}}) {
    EventsOnRecord ours =
        With({Disposition::kDeadLetter, digest, kCommit, content});
    EXPECT_EQ(ours.Find(event), Disposition::kDeadLetter);
    EXPECT_EQ(ours.FindInWal(event), Disposition::kDeadLetter);
  }
}

TEST(DispositionCountsTest, SaysWhatWasLeftOut) {
  DispositionCounts counts;
  EXPECT_EQ(counts.ToText(), "");
  counts.Add(Disposition::kSkipped);
  counts.Add(Disposition::kParked);
  counts.Add(Disposition::kParked);
  EXPECT_EQ(counts.sum(), 3U);
  EXPECT_EQ(counts.of(Disposition::kParked), 2U);
  EXPECT_EQ(counts.ToText(), "1 skipped, 2 parked");
}

}  // namespace
}  // namespace walpost
