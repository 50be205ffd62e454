#include "postgres/slot/failover_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/fake_postgres.h"
#include "support/finding_text.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> HostsOf(const std::string& conninfo) {
  std::vector<std::string> hosts;
  for (const HostConninfo& host : SplitHosts(conninfo)) {
    hosts.push_back(host.host);
  }
  return hosts;
}

TEST(SplitHostsTest, GivesEachHostItsPort) {
  EXPECT_THAT(HostsOf("host=a,b,c port=1,2,3"),
              ElementsAre("a:1", "b:2", "c:3"));
  EXPECT_THAT(HostsOf("host=a,b port=1,"), ElementsAre("a:1", "b"));
}

TEST(SplitHostsTest, OnePortServesAllHosts) {
  EXPECT_THAT(HostsOf("host=a,b,c port=5"), ElementsAre("a:5", "b:5", "c:5"));
  EXPECT_THAT(HostsOf("host=a,b"), ElementsAre("a", "b"));
}

TEST(SplitHostsTest, OneHostIsNoList) {
  EXPECT_THAT(HostsOf("host=a port=1"), IsEmpty());
}

TEST(SplitHostsTest, PortsThatDoNotMatchTheHostsGiveNone) {
  EXPECT_THAT(HostsOf("host=a,b,c port=1,2"), IsEmpty());
  EXPECT_THAT(HostsOf("host=a,b port=1,2,3"), IsEmpty());
}

const std::optional<std::string> kNull;

class FailoverCheckTest : public ::testing::Test {
 protected:
  std::vector<std::string> OnPrimary(std::optional<SlotState> slot) {
    FailoverCheck check(*connection_, "orders");
    const auto found =
        testing::Await(context_, check.OnPrimary(std::move(slot)));
    EXPECT_TRUE(found.ok()) << found.status();
    return testing::TextsOf(found.value_or(Findings()));
  }
  std::vector<std::string> OnStandby() {
    FailoverCheck check(*connection_, "orders");
    const auto found = testing::Await(context_, check.OnStandby("b"));
    EXPECT_TRUE(found.ok()) << found.status();
    return testing::TextsOf(found.value_or(Findings()));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
};

constexpr char kSetting[] = "synchronized_standby_slots";
constexpr char kRecovering[] = "pg_is_in_recovery";
constexpr char kStandby[] = "sync_replication_slots";
constexpr char kCopy[] = "SELECT synced";

TEST_F(FailoverCheckTest, ThePrimaryWaitsForAStandbyThatStreams) {
  SlotState slot;
  slot.failover = true;
  server_.Answer(kSetting, {{"", kNull}});
  EXPECT_THAT(
      OnPrimary(slot),
      ElementsAre(
          "ok slot_failover_ok slot orders: is kept for a promotion (failover)",
          StartsWith("warning synchronized_standby_slots_empty "
                     "synchronized_standby_slots: is "
                     "empty")));
  server_.Answer(kSetting, {{"s1, s2", "s2"}});
  EXPECT_THAT(
      OnPrimary(std::nullopt),
      ElementsAre(StartsWith("ok slot_failover_ok slot orders"),
                  StartsWith("warning synchronized_standby_slots_inactive "
                             "synchronized_standby_slots: "
                             "waits for s2, and no standby")));
  server_.Answer(kSetting, {{"s1, s2", kNull}});
  slot.failover = false;
  EXPECT_THAT(
      OnPrimary(slot),
      ElementsAre(
          StartsWith("warning slot_not_failover slot orders: is not a failover "
                     "slot"),
          "ok synchronized_standby_slots_ok synchronized_standby_slots: is s1, "
          "s2"));
}

TEST_F(FailoverCheckTest, EachSettingOfAStandbyIsChecked) {
  const FakePostgres::Row good = {"on", "on", "s1", "t"};
  server_.Answer(kRecovering, {{"t"}});
  server_.Answer(kCopy, {{"t"}});
  server_.Answer(kStandby, {good});
  EXPECT_THAT(
      OnStandby(),
      ElementsAre("ok standby_ok standby b: copies slots",
                  "ok standby_slot_ok slot orders on b: is in step (synced)"));
  const std::vector<std::string> wrong = {"off", "off", "", "f"};
  const std::vector<std::string> lines = {
      "warning sync_replication_slots_off standby b: does not copy slots",
      "warning hot_standby_feedback_off standby b: has hot_standby_feedback "
      "off",
      "warning primary_slot_name_empty standby b: streams without a physical "
      "slot",
      "warning primary_conninfo_without_dbname standby b: has no dbname in "
      "primary_conninfo"};
  for (size_t column = 0; column < wrong.size(); ++column) {
    FakePostgres::Row row = good;
    row[column] = wrong[column];
    server_.Answer(kStandby, {row});
    EXPECT_THAT(OnStandby(),
                ElementsAre(StartsWith(lines[column]),
                            StartsWith("ok standby_slot_ok slot orders on b")));
  }
  server_.Answer(kStandby, {good});
  server_.Answer(kCopy, {});
  EXPECT_THAT(
      OnStandby(),
      ElementsAre(StartsWith("ok standby_ok standby b"),
                  StartsWith("warning standby_slot_missing slot orders on b: "
                             "is missing")));
  for (const std::optional<std::string>& synced :
       {std::optional<std::string>("f"), kNull}) {
    server_.Answer(kCopy, {{synced}});
    EXPECT_THAT(
        OnStandby(),
        ElementsAre(
            StartsWith("ok standby_ok standby b"),
            StartsWith("warning standby_slot_not_ready slot orders on b: "
                       "is not ready yet")));
  }
}

TEST_F(FailoverCheckTest, APrimaryAmongTheHostsIsNoStandby) {
  server_.Answer(kRecovering, {{"f"}});
  EXPECT_THAT(OnStandby(), IsEmpty());
}

}  // namespace
}  // namespace walpost
