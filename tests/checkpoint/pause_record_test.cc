#include "checkpoint/pause_record.h"

#include <gtest/gtest.h>

#include "checkpoint/birth_record.h"
#include "checkpoint/event_decision.h"
#include "checkpoint/pause_gate.h"

namespace walpost {
namespace {

const WallTime kNoon{std::chrono::seconds(1'795'608'000)};
constexpr char kNoonText[] = "2026-11-25T12:00:00Z";

PauseRecord Pause(WallTime at = kNoon) {
  return {true, "alice", at, "upgrade"};
}
PauseRecord Resumption(WallTime at = kNoon) { return {false, "bob", at, ""}; }

std::optional<PauseRecord> Find(const std::string& comment) {
  return FindPause({comment}, PauseSubject("orders"));
}

std::string With(std::string_view comment, const PauseRecord& record) {
  return WithPause(comment, PauseSubject("orders"), record);
}

TEST(PauseRecordTest, ComesBackFromTheComment) {
  EXPECT_EQ(
      With("of the shop", Pause()),
      std::string("of the shop\nwalpost: slot orders paused by=alice at=") +
          kNoonText + " why=upgrade");
  EXPECT_EQ(Find(With("of the shop", Pause())), Pause());
  EXPECT_EQ(Find(With("", Resumption())), Resumption());
  EXPECT_EQ(Find(""), std::nullopt);
  EXPECT_EQ(Find("walpost: slot orders born at 0/1 of system 7"), std::nullopt);
  EXPECT_EQ(DescribePause(Pause()),
            std::string("by alice since ") + kNoonText + ": upgrade");
}

TEST(PauseRecordTest, ALineOfTheSameSlotIsReplacedAndOthersStay) {
  BirthRecord birth;
  birth.slot = "orders";
  birth.system_identifier = "7";
  std::string comment = WithBirthRecord("", birth);
  comment = WithPause(comment, PauseSubject("orders_2"), Pause());
  comment = With(With(comment, Pause()), Resumption());
  EXPECT_EQ(Find(comment), Resumption());
  EXPECT_EQ(FindPause({comment}, PauseSubject("orders_2")), Pause());
  EXPECT_TRUE(FindBirthRecord(comment, "orders"));
  EXPECT_TRUE(FindDecisions(comment, "orders").empty());
  // The birth record is written again and again.
  EXPECT_EQ(Find(WithBirthRecord(comment, birth)), Resumption());
}

TEST(PauseRecordTest, TextOfPeopleStaysOnItsLine) {
  PauseRecord record = Pause();
  record.by = "Alice B\n";
  record.why = "line\nwalpost: slot orders resumed by=x at=y why=";
  const std::optional<PauseRecord> found = Find(With("", record));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_paused);
  EXPECT_EQ(found->by, "Alice_B_");
}

TEST(PauseRecordTest, ADamagedLinePausesAllTheSame) {
  for (const char* line :
       {"walpost: slot orders paused", "walpost: slot orders paused by=",
        "walpost: slot orders paused by=alice at=yesterday why=x",
        "walpost: slot orders paused at=2026-11-25T12:00:00Z"}) {
    const std::optional<PauseRecord> found = Find(line);
    ASSERT_TRUE(found) << line;
    EXPECT_TRUE(found->is_paused) << line;
  }
  EXPECT_EQ(Find("walpost: slot orders pause"), std::nullopt);
}

TEST(PauseRecordTest, TheNewestOfAllPublicationsCounts) {
  const std::string paused = With("", Pause());
  const std::string later = With("", Resumption(kNoon + std::chrono::hours(1)));
  const std::string at_once = With("", Resumption());
  const std::string subject = PauseSubject("orders");
  EXPECT_FALSE(FindPause({paused, later}, subject)->is_paused);
  EXPECT_FALSE(FindPause({later, paused}, subject)->is_paused);
  EXPECT_TRUE(FindPause({paused, at_once}, subject)->is_paused);
  EXPECT_TRUE(FindPause({at_once, paused}, subject)->is_paused);
}

TEST(PauseRecordTest, ATableHasItsOwn) {
  const std::string comment = WithPause("", kPollingPauseSubject, Pause());
  EXPECT_EQ(FindTablePause(comment), Pause());
  EXPECT_EQ(Find(comment), std::nullopt);
}

TEST(PauseGateTest, IsClosedUntilTheRecordWasRead) {
  PauseGate gate;
  EXPECT_FALSE(gate.may_send());
  EXPECT_FALSE(gate.is_paused());
  EXPECT_TRUE(gate.Observe(std::nullopt));
  EXPECT_TRUE(gate.may_send());
  EXPECT_FALSE(gate.Observe(std::nullopt)) << "nothing has changed";
}

TEST(PauseGateTest, ARecordThatHasVanishedDoesNotResume) {
  PauseGate gate;
  EXPECT_TRUE(gate.Observe(Pause()));
  EXPECT_FALSE(gate.may_send());
  EXPECT_EQ(gate.pause(), Pause());
  EXPECT_FALSE(gate.Observe(std::nullopt));
  EXPECT_FALSE(gate.may_send());
  EXPECT_TRUE(gate.Observe(Resumption()));
  EXPECT_TRUE(gate.may_send());
  EXPECT_EQ(gate.pause(), std::nullopt);
}

}  // namespace
}  // namespace walpost
