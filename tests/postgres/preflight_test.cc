// What `walpost check` says of the server, the slot and the publication: each
// setting that is wrong, in the words that name it.
#include "postgres/stream/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "outbox/route.h"
#include "support/fake_postgres.h"
#include "support/finding_text.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using namespace testing::wal_source;  // the words of the statements

constexpr char kXid8[] = "atttypid = 5069";
const std::optional<std::string> kNull;

class PreflightTest : public ::testing::Test {
 protected:
  PreflightTest() {
    options_.slot = "orders";
    options_.publication = "outbox";
    outbox_.messages.prefix = "outbox";
    testing::AnswerWalSource(server_);
    server_.Answer("min(schemaname", {{"0", kNull}});
  }

  std::vector<std::string> Run() {
    const std::vector<Route> routes = *Route::CreateAll(outbox_);
    Preflight preflight(*connection_, options_, outbox_, routes);
    const auto found = Await(context_, preflight.Run());
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? testing::TextsOf(*found) : std::vector<std::string>();
  }
  void SetSetting(size_t column, const std::string& value) {
    FakePostgres::Row row = {"logical", "50GB", "on", "",  "3", "4",
                             "relay",   "t",    "f",  "t", "t"};
    row[column] = value;
    server_.Answer(kSettings, {row});
  }
  void SetSlot(size_t column, const std::optional<std::string>& value) {
    FakePostgres::Row row = testing::SlotAt("0/200")[0];
    row[column] = value;
    server_.Answer(kSlot, {row});
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  WalSourceOptions options_;
  OutboxOptions outbox_;
};

TEST_F(PreflightTest, AServerInOrder) {
  SetSetting(5, "4");
  EXPECT_THAT(
      Run(),
      ElementsAre("warning server_version_faulty PostgreSQL 17.2: has known "
                  "faults in logical "
                  "decoding -> upgrade to 17.6 or newer",
                  "ok slot_ok slot orders: stands at 0/200",
                  "ok wal_level_ok wal_level: is logical",
                  "ok max_slot_wal_keep_size_ok max_slot_wal_keep_size: is "
                  "50GB: beyond it the "
                  "slot is lost",
                  "ok synchronous_commit_ok synchronous_commit: is on",
                  "ok replication_slots_ok max_replication_slots: 3 left",
                  "ok wal_senders_ok max_wal_senders: 4 left",
                  "ok role_replication_ok role relay: may replicate",
                  "ok publication_ok publication outbox: publishes inserts"));
}

struct Setting {
  size_t column;
  std::string value;
  std::string line;  // the beginning of one
};

TEST_F(PreflightTest, EachSettingThatIsWrongIsNamed) {
  const std::vector<Setting> cases = {
      {9, "f",
       "error wal_level_not_logical wal_level: is logical, but logical "
       "decoding needs"},
      {8, "t", "error server_is_standby server: is a standby"},
      {1, "-1",
       "warning max_slot_wal_keep_size_unlimited max_slot_wal_keep_size: is "
       "-1"},
      {1, "1MB", "ok max_slot_wal_keep_size_ok max_slot_wal_keep_size: is 1MB"},
      {2, "off", "note synchronous_commit_off synchronous_commit: is off"},
      {2, "local", "ok synchronous_commit_ok synchronous_commit: is local"},
      {3, "FIRST 1 (*)",
       "warning synchronous_standby_names_any synchronous_standby_names: "
       "matches walpost"},
      {4, "0",
       "ok replication_slots_ok max_replication_slots: 0 left"},  // it has its
                                                                  // slot
      {5, "0",
       "ok wal_senders_ok max_wal_senders: 0 left"},  // with this session
      {5, "-1",
       "error wal_senders_exhausted max_wal_senders: no sender is left"},
      {6, "other", "ok role_replication_ok role other: may replicate"},
      {7, "f",
       "note role_replication_inherited role relay: has no REPLICATION "
       "attribute"},
  };
  for (const Setting& setting : cases) {
    SetSetting(setting.column, setting.value);
    EXPECT_THAT(Run(), Contains(StartsWith(setting.line))) << setting.line;
  }
  SetSetting(10, "f");
  EXPECT_THAT(Run(), Not(Contains(HasSubstr("track_commit_timestamp"))));
  outbox_.origin = OriginFilter::kNone;
  EXPECT_THAT(
      Run(), Contains(StartsWith(
                 "warning track_commit_timestamp_off track_commit_timestamp")));
  SetSetting(10, "t");
  EXPECT_THAT(
      Run(),
      Contains(StartsWith(
          "ok track_commit_timestamp_ok track_commit_timestamp: is on")));
}

TEST_F(PreflightTest, WithoutASlotOneMustBeLeft) {
  server_.Answer(kSlot, {});
  for (const char* left : {"0", "-1"}) {
    SetSetting(4, left);
    EXPECT_THAT(Run(), Contains(StartsWith("error replication_slots_exhausted "
                                           "max_replication_slots: is used")));
  }
  SetSetting(4, "1");
  EXPECT_THAT(
      Run(), Contains("ok replication_slots_ok max_replication_slots: 1 left"));
}

struct SlotCase {
  size_t column;
  std::string value;
  std::string line;
};

TEST_F(PreflightTest, P9EachStateOfTheSlotHasItsWords) {
  // Columns: plugin, wal_status, active, restart, confirmed, failover,
  // two_phase, its database, ours, type, why it is invalid.
  const std::vector<SlotCase> cases = {
      {1, "reserved", "ok slot_ok slot orders: stands at 0/200"},
      {1, "extended", "ok slot_ok slot orders: stands at 0/200"},
      {1, "unreserved",
       "warning slot_unreserved slot orders: is about to be lost"},
      {1, "lost", "error slot_lost slot orders: is lost: "},
      {2, "t", "ok slot_ok slot orders: stands at 0/200 and is in use"},
      {6, "t", "error slot_two_phase slot orders: was made with two_phase"},
  };
  for (const SlotCase& slot : cases) {
    SetSlot(slot.column, slot.value);
    EXPECT_THAT(Run(), Contains(StartsWith(slot.line))) << slot.line;
  }
  server_.Answer(kSlot, {});
  EXPECT_THAT(
      Run(),
      Contains(StartsWith("error slot_missing slot orders: does not exist")));
  options_.create = true;
  EXPECT_THAT(
      Run(), Contains("note slot_missing slot orders: does not exist; run will "
                      "create it"));
}

TEST_F(PreflightTest, P9ASlotOfSomebodyElseIsRefused) {
  const std::vector<Route> routes = *Route::CreateAll(outbox_);
  const std::vector<SlotCase> cases = {
      {7, "other",
       "slot orders belongs to database other, and this is "
       "database d"},
      {0, "wal2json", "slot orders belongs to output plugin wal2json"},
      {9, "physical", "slot orders is a physical slot"},
  };
  for (const SlotCase& slot : cases) {
    SetSlot(slot.column, slot.value);
    if (slot.column == 9) {
      FakePostgres::Row row = testing::SlotAt("0/200")[0];
      row[0] = kNull;
      row[7] = kNull;
      row[9] = slot.value;
      server_.Answer(kSlot, {row});
    }
    Preflight preflight(*connection_, options_, outbox_, routes);
    const auto found = Await(context_, preflight.Run());
    EXPECT_TRUE(absl::IsFailedPrecondition(found.status())) << slot.line;
    EXPECT_THAT(std::string(found.status().message()), HasSubstr(slot.line));
    EXPECT_EQ(FindingIdOf(found.status(), FindingId("?")),
              FindingId(slot.column == 7 ? "slot_of_another_database"
                                         : "slot_of_another_plugin"));
  }
}

TEST_F(PreflightTest, P9EachPublicationHasItsWords) {
  const std::vector<std::pair<FakePostgres::Rows, std::string>> cases = {
      {{},
       "error publication_missing publication outbox: does not exist -> "
       "walpost init -c FILE"},
      {{{"f", "t", "insert, update", "f"}},
       "error publication_without_inserts publication outbox: does not publish "
       "inserts -> ALTER "
       "PUBLICATION \"outbox\" SET (publish = 'insert, update');"},
      {{{"f", "t", "insert", "t"}},
       "error publication_without_inserts publication outbox: does not publish "
       "inserts"},
      {{{"t", "t", "insert", "t"}},
       "note publication_shared publication outbox: is not for the outbox "
       "alone: another program "
       "may read it, as Debezium does, so do not take anything out of it -> "
       "none is needed. For one of walpost's own make it while the other "
       "program still streams, and set postgres.publication when the slot has "
       "passed it (confirmed_flush_lsn): CREATE PUBLICATION \"walpost\""},
      {{{"t", "t", "insert, delete", "f"}},
       "note publication_not_inserts_only publication outbox: publishes more "
       "than inserts"},
  };
  for (const auto& [rows, line] : cases) {
    server_.Answer(kPublication, rows);
    EXPECT_THAT(Run(), Contains(StartsWith(line))) << line;
  }
  options_.publication = "walpost";
  server_.Answer(kPublication, {{"t", "t", "insert", "t"}});
  EXPECT_THAT(Run(), Contains(HasSubstr("PUBLICATION \"walpost_outbox\"")));
  options_.create = true;
  server_.Answer(kPublication, {});
  EXPECT_THAT(
      Run(),
      Contains(
          "note publication_missing publication walpost: does not exist; run "
          "will create it"));
}

TEST_F(PreflightTest, OtherTablesOfThePublicationAreAWarning) {
  server_.Answer("min(schemaname", {{"3", "app.more"}});
  EXPECT_THAT(
      Run(), Contains("warning publication_has_other_tables publication "
                      "outbox: has tables that are not in "
                      "outbox.tables (3, app.more among them): their rows are "
                      "confirmed and not published -> if it is an outbox, list "
                      "it in outbox.tables"));
}

TEST_F(PreflightTest, FailoverIsCheckedIfItIsOn) {
  options_.failover = true;
  server_.Answer("synchronized_standby_slots", {{"standby", kNull}});
  EXPECT_THAT(Run(), Contains(StartsWith(
                         "warning slot_not_failover slot orders: is not a "
                         "failover slot")));
}

TEST_F(PreflightTest, AMissingColumnOfTransactionIdsIsAWarning) {
  outbox_.tables.resize(2);
  outbox_.tables[0].name = "app.one";
  outbox_.tables[1].name = "app.two";
  outbox_.tables[1].state.transaction_id = "xid";
  server_.Answer("CASE WHEN c.relkind = 'r'",
                 {{"0", "r", kNull, kNull, "f", "app.one"},
                  {"1", "r", kNull, kNull, "f", "app.two"}});
  server_.Answer("attnames, rowfilter",
                 {{"app.one", kNull, kNull}, {"app.two", kNull, kNull}});
  FakePostgres::Rows columns;
  for (const char* table : {"0", "1"}) {
    columns.push_back({table, "id", "20", "bigint", "", kNull});
    columns.push_back({table, "aggregate_type", "25", "text", "", kNull});
    columns.push_back({table, "aggregate_id", "25", "text", "", kNull});
    columns.push_back({table, "payload", "25", "text", "", kNull});
  }
  server_.Answer("format_type(a.atttypid", columns);
  server_.Answer(kXid8, {{"1"}});
  const std::vector<std::string> found = Run();
  EXPECT_THAT(
      found,
      Contains(StartsWith(
          "warning transaction_id_column_missing table app.two: has no column "
          "xid of type xid8")));
  EXPECT_THAT(
      found,
      Contains("ok table_ok table app.one: is published, and its columns "
               "fit"));
  EXPECT_THAT(server_.StatementsWith(kXid8).back(), HasSubstr("'', 'xid'"));
}

TEST_F(PreflightTest, P8AnErrorOfAStatementIsNoFinding) {
  for (const char* words :
       {kSlot, kSettings, kPublication, "min(schemaname", "p.pubupdate"}) {
    server_.Fail(words, "57014", "canceled");
    const std::vector<Route> routes = *Route::CreateAll(outbox_);
    Preflight preflight(*connection_, options_, outbox_, routes);
    EXPECT_FALSE(Await(context_, preflight.Run()).ok()) << words;
    testing::AnswerWalSource(server_);
  }
}

}  // namespace
}  // namespace walpost
