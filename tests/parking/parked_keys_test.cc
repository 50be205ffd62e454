#include "parking/parked_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "outbox/event_digest.h"
#include "outbox/record_builder.h"

namespace walpost {
namespace {

using Claim = Parking::Claim;

constexpr char kSource[] = "public.outbox";

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

OutboxOptions Outbox(std::string topic) {
  OutboxOptions options;
  options.tables.resize(1);
  options.tables[0].name = kSource;
  options.route.topic = std::move(topic);
  options.route.headers = {{"region", "region"}};
  return options;
}

class ParkedKeysTest : public ::testing::Test {
 protected:
  explicit ParkedKeysTest(std::string topic = "t.{aggregate_type}")
      : outbox_(Outbox(std::move(topic))),
        routes_(Route::CreateAll(outbox_).value()),
        parked_keys_(ParkingOptions{.max_keys = 2, .max_isolated_bytes = 2'000},
                     outbox_, routes_) {}

  static Event MakeEvent(Position position, Value key, Value type = "order") {
    Event event;
    event.position = position;
    event.aggregate_id = key;
    event.aggregate_type = type;
    event.id = "id";
    event.payload = "payload";
    return event;
  }

  void Park(Position position, Value key, Sequence sequence,
            const absl::Status& reason = Undeliverable(kReasonTopicIllegal,
                                                       "illegal")) {
    parked_keys_.Park(MakeEvent(position, key), reason, sequence);
  }

  Claim ClaimOf(Position position, Value key, Value type = "order") {
    return parked_keys_.ClaimOf(MakeEvent(position, key, type));
  }

  static std::string Digest(Value id) {
    Event event;
    event.id = id;
    return EventDigest(kSource, event);
  }

  static bool All(Sequence) { return true; }
  static bool None(Sequence) { return false; }

  OutboxOptions outbox_;
  std::vector<Route> routes_;
  ParkedKeys parked_keys_;
};

TEST_F(ParkedKeysTest, LaterEventsOfAKeyFollowAParkedOne) {
  EXPECT_EQ(ClaimOf(At(100), "k"), Claim::kFree);
  Park(At(200), "k", 0);
  EXPECT_EQ(ClaimOf(At(100), "k"), Claim::kFree);
  EXPECT_EQ(ClaimOf(At(300), "k"), Claim::kFollows);
  EXPECT_EQ(ClaimOf(At(300), "other"), Claim::kFree);
  EXPECT_EQ(ClaimOf(At(300), std::nullopt), Claim::kFree);
}

TEST_F(ParkedKeysTest, TypesThatNeverShareATopicDoNotWaitForEachOther) {
  Park(At(200), "k", 0);
  EXPECT_EQ(ClaimOf(At(300), "k", "customer"), Claim::kFree);
  EXPECT_EQ(ClaimOf(At(300), "k", std::nullopt), Claim::kFree);
}

class LettersTest : public ::testing::Test {
 protected:
  explicit LettersTest(
      DeadLetterOptions::Payload payload = DeadLetterOptions::Payload::kWhole)
      : outbox_(Outbox("t.{aggregate_type}")) {
    outbox_.dead_letter.store = DeadLetterOptions::Store::kPostgres;
    outbox_.dead_letter.payload = payload;
    routes_ = Route::CreateAll(outbox_).value();
    parked_keys_.emplace(ParkingOptions{.max_keys = 1}, outbox_, routes_);
  }

  void Keep(Position position, Value key, Sequence sequence) {
    Event event;
    event.position = position;
    event.aggregate_id = key;
    event.id = "id";
    event.payload = payload_;
    event.references = references_;
    parked_keys_->KeepLetter(
        event, Undeliverable(kReasonHeadersUnreadable, "bad"), sequence);
  }
  const ParkedEvent& Kept() { return *parked_keys_->NextBatch(1, 1).at(0); }

  std::string payload_ = std::string(5'000, 'x');
  std::vector<Value> references_ = {"order", "north"};
  OutboxOptions outbox_;
  std::vector<Route> routes_;
  std::optional<ParkedKeys> parked_keys_;
};

class CutLettersTest : public LettersTest {
 protected:
  CutLettersTest() : LettersTest(DeadLetterOptions::Payload::kCut) {}
};

TEST_F(LettersTest, HasAllOfTheEventAndItsTopic) {
  Keep(At(100), "k", 1);
  EXPECT_EQ(Kept().state, ParkedState::kLetter);
  EXPECT_EQ(Kept().topic, "") << "it waits for no topic";
  EXPECT_EQ(Kept().content.topic, "t.order");
  EXPECT_EQ(Kept().content.error_class, "headers_unreadable");
  EXPECT_EQ(Kept().content.payload, payload_);
  EXPECT_EQ(Kept().content.payload_bytes, std::nullopt);
}

TEST_F(LettersTest, AnEventThatCouldNotBeMappedHasNoTopic) {
  references_.clear();
  Keep(At(100), "k", 1);
  EXPECT_EQ(Kept().content.topic, "");
}

TEST_F(CutLettersTest, SaysHowLargeThePayloadWas) {
  Keep(At(100), "k", 1);
  EXPECT_EQ(Kept().content.payload, payload_.substr(0, 4'096));
  EXPECT_EQ(Kept().content.payload_bytes, 5'000u);
}

TEST_F(LettersTest, HoldsUpNoKeyAndNeedsNone) {
  Keep(At(100), "k", 1);
  Keep(At(101), std::nullopt, 2);
  Keep(At(102), "other", 3);
  EXPECT_FALSE(parked_keys_->holds_any());
  EXPECT_EQ(parked_keys_->OnStored(3), (std::vector<Sequence>{1, 2, 3}));
}

TEST_F(LettersTest, AStartForgetsLettersThatAreNotInFlight) {
  Keep(At(100), "k", 1);
  Keep(At(101), "k", 2);
  parked_keys_->Load({}, [](Sequence sequence) { return sequence == 2; });
  EXPECT_EQ(parked_keys_->queued(), 1u);
  EXPECT_FALSE(parked_keys_->holds_any());
}

TEST_F(LettersTest, AnEventWhoseLetterIsStoredIsSettled) {
  ParkedSoFar so_far;
  so_far.settled.Add(At(100), {"i0", {ParkedState::kLetter, 1}});
  parked_keys_->Load(std::move(so_far), [](Sequence) { return true; });
  Event event;
  event.position = At(100);
  EXPECT_EQ(parked_keys_->ClaimOf(event), Claim::kSettled);
  event.position = At(101);
  EXPECT_EQ(parked_keys_->ClaimOf(event), Claim::kFree);
}

class ParkedKeysOfOneTopicTest : public ParkedKeysTest {
 protected:
  ParkedKeysOfOneTopicTest() : ParkedKeysTest("events") {}
};

TEST_F(ParkedKeysOfOneTopicTest, TypesThatMayShareATopicWaitForEachOther) {
  Park(At(200), "k", 0);
  EXPECT_EQ(ClaimOf(At(300), "k", "customer"), Claim::kFollows);
}

TEST_F(ParkedKeysTest, AnEventWithoutAKeyCannotBeParked) {
  const absl::Status status =
      parked_keys_.MayPark(MakeEvent(At(100), std::nullopt));
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("aggregate_id"), std::string::npos);
}

TEST_F(ParkedKeysTest, ANewKeyAboveTheLimitCannotBeParked) {
  Park(At(200), "a", 0);
  Park(At(201), "b", 1);
  EXPECT_TRUE(parked_keys_.MayPark(MakeEvent(At(300), "a")).ok());
  const absl::Status status = parked_keys_.MayPark(MakeEvent(At(300), "c"));
  EXPECT_NE(status.message().find("parking.max_keys"), std::string::npos);
}

TEST_F(ParkedKeysTest, KeepsAllOfAnEvent) {
  const std::vector<Value> references = {"order", "north"};
  Event event = MakeEvent(At(200), "k");
  event.references = references;
  parked_keys_.Park(event, Undeliverable(kReasonTopicIllegal, "why"), 7);
  const ParkedEvent& parked = *parked_keys_.NextBatch(10, 1'000).at(0);
  EXPECT_EQ(parked.position, At(200));
  EXPECT_EQ(parked.state, ParkedState::kDead);
  EXPECT_EQ(parked.content.error_class, kReasonTopicIllegal);
  EXPECT_EQ(parked.content.reason, "why");
  EXPECT_EQ(parked.content.payload, "payload");
  EXPECT_EQ(parked.content.columns.at(0).first, "region");
  EXPECT_EQ(parked.content.columns.at(0).second, "north");
}

TEST_F(ParkedKeysTest, ABatchHasAtLeastOneEventAndKeepsTheLimits) {
  for (uint64_t i = 0; i < 5; ++i) Park(At(200 + i), "k", i, absl::OkStatus());
  EXPECT_EQ(parked_keys_.NextBatch(10, 1).size(), 1u);
  EXPECT_EQ(parked_keys_.NextBatch(3, 1 << 20).size(), 3u);
  EXPECT_EQ(parked_keys_.OnStored(3), (std::vector<Sequence>{0, 1, 2}));
  EXPECT_EQ(parked_keys_.NextBatch(10, 1 << 20).size(), 2u);
}

TEST_F(ParkedKeysTest, LoadHoldsWhatIsStoredAndWhatIsStillInFlight) {
  Park(At(200), "a", 0);
  Park(At(201), "gone", 1);
  ParkedSoFar so_far;
  so_far.lanes.push_back({"order", "stored", {At(50)}});
  parked_keys_.Load(so_far, [](Sequence sequence) { return sequence == 0; });
  EXPECT_EQ(parked_keys_.queued(), 1u);
  EXPECT_EQ(ClaimOf(At(300), "a"), Claim::kFollows);
  EXPECT_EQ(ClaimOf(At(300), "stored"), Claim::kFollows);
  EXPECT_EQ(ClaimOf(At(300), "gone"), Claim::kFree);
}

TEST_F(ParkedKeysTest, AKeyThatWasParkedBeforeTheStartIsReleased) {
  ParkedSoFar so_far;
  so_far.lanes.push_back({"order", "k", {At(50)}});
  parked_keys_.Load(so_far, None);
  parked_keys_.BeginReading();
  EXPECT_TRUE(parked_keys_.OnRead({}));
  EXPECT_TRUE(parked_keys_.lanes().empty());
}

TEST_F(ParkedKeysTest, WhatAnOperatorHasDiscardedIsSettled) {
  ParkedSoFar so_far;
  so_far.settled.Add(At(200), {Digest("id"), {ParkedState::kDiscarded, 1}});
  so_far.settled.Add(At(201), {Digest("id"), {ParkedState::kReleased, 2}});
  parked_keys_.Load(so_far, None);
  EXPECT_EQ(ClaimOf(At(200), "k"), Claim::kSettled);
  EXPECT_EQ(ClaimOf(At(201), "k"), Claim::kFree);
  EXPECT_TRUE(parked_keys_.WasReleased(MakeEvent(At(201), "k")));
  EXPECT_FALSE(parked_keys_.WasReleased(MakeEvent(At(200), "k")));
}

// ---- P1: an event is known by more than its position.

TEST_F(ParkedKeysTest, AnotherEventOnRecordAtItsPositionStopsTheFlow) {
  for (const ParkedState state :
       {ParkedState::kDiscarded, ParkedState::kReleased, ParkedState::kLetter,
        ParkedState::kLetterDiscarded}) {
    ParkedSoFar so_far;
    so_far.settled.Add(At(200), {Digest("another"), {state, 7}});
    parked_keys_.Load(so_far, None);
    EXPECT_EQ(ClaimOf(At(200), "k"), Claim::kConflict);
    const absl::Status why = parked_keys_.MayPark(MakeEvent(At(200), "k"));
    EXPECT_EQ(ReasonCodeOf(why), kReasonParkedEventDiffers);
    EXPECT_THAT(std::string(why.message()),
                ::testing::HasSubstr("WHERE number = 7"));
  }
}

// Its columns are mapped otherwise than when it was stored.
TEST_F(ParkedKeysTest, AnEventWithoutAnIdIsKnownByItsPosition) {
  ParkedSoFar so_far;
  so_far.settled.Add(At(200), {"f0123", {ParkedState::kLetter, 1}});
  parked_keys_.Load(so_far, None);
  Event event = MakeEvent(At(200), "k");
  event.id.reset();
  EXPECT_EQ(parked_keys_.ClaimOf(event), Claim::kSettled);
}

TEST_F(ParkedKeysTest, AnotherNumberingSettlesItsOwnEventAlone) {
  ParkedSoFar so_far;
  so_far.settled.AddOfOtherNumbering(Lsn(200),
                                     {Digest("id"), {ParkedState::kLetter, 1}});
  parked_keys_.Load(so_far, None);
  EXPECT_EQ(ClaimOf(At(199, 2), "k"), Claim::kFree) << "another transaction";
  Event other = MakeEvent(At(200, 1), "k");
  other.id = "other";
  EXPECT_EQ(parked_keys_.ClaimOf(other), Claim::kFree);
  EXPECT_EQ(ClaimOf(At(200, 2), "k"), Claim::kSettled);
  EXPECT_EQ(ClaimOf(At(200, 2), "k"), Claim::kSettled) << "offered again";
  EXPECT_EQ(ClaimOf(At(200, 3), "k"), Claim::kFree) << "a second one like it";
}

TEST_F(ParkedKeysTest, ALaneOfAnotherNumberingIsHeldFromItsFirstEvent) {
  ParkedSoFar so_far;
  so_far.lanes.push_back({"order", "k", {At(200, 0), Digest("id"), kSource}});
  parked_keys_.Load(so_far, None);
  Event earlier = MakeEvent(At(200, 1), "k");
  earlier.id = "earlier";
  EXPECT_EQ(parked_keys_.ClaimOf(earlier), Claim::kFree);
  EXPECT_EQ(ClaimOf(At(200, 2), "k"), Claim::kFollows);
  EXPECT_EQ(ClaimOf(At(200, 2), "k"), Claim::kFollows) << "offered again";
  Event later = MakeEvent(At(200, 3), "k");
  later.id = "later";
  EXPECT_EQ(parked_keys_.ClaimOf(later), Claim::kFollows);
}

TEST_F(ParkedKeysTest, LaterTransactionsFollowALaneOfAnotherNumbering) {
  ParkedSoFar so_far;
  so_far.lanes.push_back({"order", "k", {At(200, 0), Digest("id"), kSource}});
  parked_keys_.Load(so_far, None);
  Event later = MakeEvent(At(201), "k");
  later.id = "later";
  EXPECT_EQ(parked_keys_.ClaimOf(later), Claim::kFollows);
}

// The stream does not show the event that holds the lane.
TEST_F(ParkedKeysTest, ALaneOfASourceThatIsGoneIsHeldFromItsTransaction) {
  ParkedSoFar so_far;
  so_far.lanes.push_back(
      {"order", "k", {At(200, 0), Digest("id"), "public.gone"}});
  parked_keys_.Load(so_far, None);
  Event earlier = MakeEvent(At(200, 1), "k");
  earlier.id = "earlier";
  EXPECT_EQ(parked_keys_.ClaimOf(earlier), Claim::kFollows);
  EXPECT_EQ(ClaimOf(At(199, 9), "k"), Claim::kFree);
}

TEST_F(ParkedKeysTest, WhatIsParkedSaysWhichEventItIs) {
  Park(At(200), "k", 0);
  EXPECT_EQ(parked_keys_.NextBatch(1, 1).at(0)->digest, Digest("id"));
}

TEST_F(ParkedKeysTest, EventsOfALeavingLaneWaitUntilItIsReleased) {
  Park(At(200), "k", 0);
  parked_keys_.OnStored(1);
  const std::string lane = LaneOf(parked_keys_.scope(), "order", "k");
  parked_keys_.BeginReading();
  EXPECT_FALSE(parked_keys_.OnRead({{lane}, {lane}}));
  EXPECT_EQ(ClaimOf(At(300), "k"), Claim::kWaits);
  parked_keys_.BeginReading();
  EXPECT_TRUE(parked_keys_.OnRead({}));
  EXPECT_EQ(ClaimOf(At(300), "k"), Claim::kFree);
}

TEST_F(ParkedKeysTest, EventsFollowAgainWhenALaneTakesLongToLeave) {
  Park(At(200), "k", 0);
  parked_keys_.OnStored(1);
  const std::string lane = LaneOf(parked_keys_.scope(), "order", "k");
  parked_keys_.BeginReading();
  parked_keys_.OnRead({{lane}, {lane}});
  EXPECT_TRUE(parked_keys_.GiveUpWaiting());
  EXPECT_EQ(ClaimOf(At(300), "k"), Claim::kFollows);
}

TEST_F(ParkedKeysTest, AnEventThatIsStoredAfterTheReadingHoldsItsLane) {
  Park(At(200), "k", 0);
  parked_keys_.BeginReading();
  parked_keys_.OnStored(1);
  EXPECT_FALSE(parked_keys_.OnRead({}));
  EXPECT_EQ(ClaimOf(At(300), "k"), Claim::kFollows);
}

// ---- Isolated topics.

class IsolatedTopicTest : public ParkedKeysTest {
 protected:
  // An event of topic t.TYPE.
  struct Typed {
    Typed(Position position, Value key, Value type)
        : references{type, std::nullopt},
          event(MakeEvent(position, key, type)) {
      event.references = references;
    }
    std::vector<Value> references;
    Event event;
  };

  Claim Of(Position position, Value key, Value type) {
    return parked_keys_.ClaimOf(Typed(position, key, type).event);
  }
  void Isolate(Position position, Value type) {
    parked_keys_.Isolate(Typed(position, "k", type).event);
  }
  void ParkFor(Position position, Value key, Value type,
               const absl::Status& reason = absl::OkStatus()) {
    parked_keys_.Park(Typed(position, key, type).event, reason, sequence_++);
  }
  bool Read(const ParkedReading& reading) {
    parked_keys_.OnStored(parked_keys_.queued());
    parked_keys_.BeginReading();
    return parked_keys_.OnRead(reading);
  }

  Sequence sequence_ = 0;
};

TEST_F(IsolatedTopicTest, AllEventsOfTheTopicFollowAndNoOthers) {
  Isolate(At(100), "order");
  EXPECT_EQ(Of(At(90), "k", "order"), Claim::kFree);
  EXPECT_EQ(Of(At(100), "k", "order"), Claim::kIsolated);
  EXPECT_EQ(Of(At(110), "other", "order"), Claim::kIsolated);
  EXPECT_EQ(Of(At(110), std::nullopt, "order"), Claim::kIsolated);
  EXPECT_EQ(Of(At(110), "k", "customer"), Claim::kFree);
  ParkFor(At(100), "k", "order");
  EXPECT_EQ(parked_keys_.NextBatch(9, 9'000).front()->topic, "t.order");
  EXPECT_TRUE(parked_keys_.lanes().empty());
}

// What led to it was seen in the stream before.
TEST_F(IsolatedTopicTest, ASecondTopicIsIsolatedWhenAStreamBegins) {
  ParkedSoFar so_far;
  so_far.topics["t.order"] = {{At(100)}, At(110)};
  parked_keys_.Load(so_far, [](Sequence) { return false; });
  EXPECT_FALSE(parked_keys_.MayIsolate()) << "what is stored has not been read";
  Isolate(At(200), "customer");
  EXPECT_EQ(Of(At(200), "k", "customer"), Claim::kIsolated);
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kIsolated);
}

TEST_F(IsolatedTopicTest, AnEventOfAParkedKeyWaitsForItsKey) {
  Park(At(50), "k", 7);
  Isolate(At(100), "order");
  ParkFor(At(110), "k", "order");
  EXPECT_EQ(parked_keys_.NextBatch(9, 9'000).back()->topic, "");
}

TEST_F(IsolatedTopicTest, IsHeldUntilItsEventIsStoredAndSent) {
  Isolate(At(100), "order");
  parked_keys_.BeginReading();
  EXPECT_FALSE(parked_keys_.OnRead({}))
      << "the event is on its way to the table";
  ParkFor(At(100), "k", "order");
  EXPECT_FALSE(Read({.waiting_topics = {"t.order"}}));
  EXPECT_TRUE(Read({}));
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kFree);
}

TEST_F(IsolatedTopicTest, EventsOfALeavingTopicWait) {
  Isolate(At(100), "order");
  ParkFor(At(100), "k", "order");
  Read({.waiting_topics = {"t.order"}, .leaving_topics = {"t.order"}});
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kWaits);
  EXPECT_TRUE(parked_keys_.GiveUpWaiting());
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kIsolated);
}

TEST_F(IsolatedTopicTest, ALimitStopsTheFlowUntilFewerWait) {
  Isolate(At(100), "order");
  for (uint64_t i = 0; i < 4; ++i) ParkFor(At(100 + i), "k", "order");
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kFull);
  const Typed event(At(120), "k", "order");
  EXPECT_THAT(std::string(parked_keys_.MayPark(event.event).message()),
              ::testing::HasSubstr("parking.max_isolated_bytes"));
  EXPECT_TRUE(Read({.waiting_topics = {"t.order"}, .isolated_bytes = 1'000}));
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kIsolated);
}

TEST_F(IsolatedTopicTest, WithoutRoomNoOtherTopicIsIsolated) {
  Isolate(At(100), "order");
  for (uint64_t i = 0; i < 4; ++i) ParkFor(At(100 + i), "k", "order");
  EXPECT_FALSE(parked_keys_.MayIsolate());
  Isolate(At(120), "customer");
  EXPECT_EQ(Of(At(120), "k", "customer"), Claim::kFree);
  Read({.waiting_topics = {"t.order"}, .isolated_bytes = 1'000});
  EXPECT_TRUE(parked_keys_.MayIsolate());
}

TEST_F(IsolatedTopicTest, NotBeforeTheRoomIsKnown) {
  ParkedSoFar so_far;
  so_far.topics["t.order"] = {{At(100)}, At(120)};
  parked_keys_.Load(so_far, None);
  EXPECT_FALSE(parked_keys_.MayIsolate());
  Read({.waiting_topics = {"t.order"}});
  EXPECT_TRUE(parked_keys_.MayIsolate());
}

TEST_F(IsolatedTopicTest, NoMoreThanSixteenTopicsAreIsolated) {
  for (uint64_t i = 0; i < 16; ++i) {
    EXPECT_TRUE(parked_keys_.MayIsolate());
    Isolate(At(100 + i), "order" + std::to_string(i));
  }
  EXPECT_FALSE(parked_keys_.MayIsolate());
  Isolate(At(200), "another");
  EXPECT_EQ(Of(At(200), "k", "another"), Claim::kFree);
}

TEST_F(IsolatedTopicTest, EventsThatWaitForTooLongStopTheFlow) {
  Isolate(At(100), "order");
  ParkFor(At(100), "k", "order");
  Read({.waiting_topics = {"t.order"}, .isolated_for = std::chrono::hours(24)});
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kFull);
}

TEST_F(IsolatedTopicTest, LoadIsolatesTheTopicsOfTheTable) {
  ParkedSoFar so_far;
  so_far.topics["t.order"] = {{At(100)}, At(100)};
  parked_keys_.Load(so_far, None);
  EXPECT_EQ(Of(At(90), "k", "order"), Claim::kFree);
  EXPECT_EQ(Of(At(110), "k", "order"), Claim::kIsolated);
}

// Else it would stop before an event that only it can send.
TEST_F(IsolatedTopicTest, WhatIsStoredAlreadyNeedsNoRoom) {
  ParkedSoFar so_far;
  so_far.topics["t.order"] = {{At(100)}, At(120)};
  parked_keys_.Load(so_far, None);
  Read({.waiting_topics = {"t.order"}, .isolated_bytes = 1'000'000});
  EXPECT_EQ(Of(At(100), "k", "order"), Claim::kIsolated);
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kIsolated);
  EXPECT_EQ(Of(At(121), "k", "order"), Claim::kFull);
}

TEST_F(IsolatedTopicTest, LoadKeepsTheTopicsOfEventsInFlight) {
  Isolate(At(100), "order");
  ParkFor(At(100), "k", "order");
  parked_keys_.Load({}, All);
  EXPECT_EQ(Of(At(110), "k", "order"), Claim::kIsolated);
  parked_keys_.Load({}, None);
  EXPECT_EQ(Of(At(110), "k", "order"), Claim::kFree);
}

// An event that waited for its topic was dead, and an operator has given it up:
// those behind it wait for the topic again, before the key is free.
TEST_F(IsolatedTopicTest, AKeyIsNotFreeBeforeItsTopicIs) {
  parked_keys_.Hold("k", At(100));
  Read({.waiting = {"k"}});
  EXPECT_TRUE(parked_keys_.topics().empty());
  Read({.waiting_topics = {"t.order"}});
  EXPECT_TRUE(parked_keys_.lanes().empty());
  EXPECT_EQ(Of(At(120), "k", "order"), Claim::kIsolated);
}

}  // namespace
}  // namespace walpost
