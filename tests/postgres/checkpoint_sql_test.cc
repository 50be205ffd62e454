#include "postgres/checkpoint/checkpoint_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTable[] = "public.walpost_checkpoint";

std::string Quote(std::string_view text) {
  return "<" + std::string(text) + ">";
}

CheckpointRow Row() {
  CheckpointRow row;
  row.slot = "walpost";
  row.system_identifier = "7412345678901234567";
  row.timeline = "4294967295";
  row.birth = "0/15000000";
  row.confirmed = "1/A";
  row.commit_lsn = "FFFFFFFF/FFFFFFFF";
  row.ordinal = "9";
  row.numbering = "9223372036854775807";
  row.transaction_horizon = "18446744073709551615";
  row.server_started_at = "1600000000654321";
  row.written_at = "1700000000123456";
  row.commit_xid = "4294967295";
  row.commit_time = "1500000000123456";
  row.coverage = "16390:742";
  row.kafka_cluster = "abc";
  row.gap = "slot_missing and more";
  row.kafka_topics = "orders=b";
  return row;
}

TEST(CheckpointSqlTest, ReadsARow) {
  const auto checkpoint = ParseCheckpointRow(Row());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->slot, "walpost");
  EXPECT_EQ(checkpoint->system_identifier, "7412345678901234567");
  EXPECT_EQ(checkpoint->timeline, UINT32_MAX);
  EXPECT_EQ(checkpoint->birth, Lsn(0x15000000));
  EXPECT_EQ(checkpoint->confirmed, Lsn(0x1'0000'000A));
  EXPECT_EQ(checkpoint->position.commit_lsn, Lsn(UINT64_MAX));
  EXPECT_EQ(checkpoint->position.ordinal, 9u);
  EXPECT_EQ(checkpoint->numbering, uint64_t{INT64_MAX});
  EXPECT_EQ(checkpoint->horizon.transaction_id, UINT64_MAX);
  EXPECT_EQ(checkpoint->horizon.server_started_at.time_since_epoch().count(),
            1'600'000'000'654'321);
  EXPECT_EQ(checkpoint->written_at.time_since_epoch().count(),
            1'700'000'000'123'456);
  EXPECT_EQ(checkpoint->commit_xid, Xid(UINT32_MAX));
  EXPECT_EQ(checkpoint->commit_time.time_since_epoch().count(),
            1'500'000'000'123'456);
  EXPECT_EQ(checkpoint->coverage, "16390:742");
  EXPECT_EQ(checkpoint->kafka_cluster, "abc");
  EXPECT_EQ(checkpoint->gap, "slot_missing and more");
  EXPECT_EQ(checkpoint->kafka_topics, "orders=b");
}

TEST(CheckpointSqlTest, ValuesThatWalpostNeverWroteAreDataLoss) {
  struct {
    std::string CheckpointRow::*column;
    const char* text;
    const char* named;
  } const rows[] = {
      {&CheckpointRow::timeline, "-1", "timeline is '-1'"},
      {&CheckpointRow::timeline, "4294967296", "timeline"},
      {&CheckpointRow::birth, "", "birth"},
      {&CheckpointRow::confirmed, "x", "confirmed"},
      {&CheckpointRow::commit_lsn, "1", "commit_lsn"},
      {&CheckpointRow::ordinal, "-1", "ordinal"},
      {&CheckpointRow::numbering, "-1", "numbering"},
      {&CheckpointRow::transaction_horizon, "-1", "transaction_horizon"},
      {&CheckpointRow::server_started_at, "", "server_started_at"},
      {&CheckpointRow::written_at, "now", "written_at"},
      {&CheckpointRow::commit_xid, "4294967296", "commit_xid"},
      {&CheckpointRow::commit_time, "", "commit_time"},
  };
  for (const auto& [column, text, named] : rows) {
    CheckpointRow row = Row();
    row.*column = text;
    const absl::Status status = ParseCheckpointRow(row).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << named << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(named));
  }
}

TEST(CheckpointSqlTest, SavesEveryColumn) {
  const std::string sql =
      SaveCheckpointSql(kTable, *ParseCheckpointRow(Row()), Quote);
  EXPECT_THAT(sql, HasSubstr(R"(INSERT INTO "public"."walpost_checkpoint")"));
  EXPECT_THAT(
      sql,
      HasSubstr("(<walpost>, <7412345678901234567>, 4294967295, "
                "'0/15000000', '1/A', 'FFFFFFFF/FFFFFFFF', 9, "
                "9223372036854775807, '18446744073709551615', "
                "timestamptz 'epoch' + 1600000000654321 * "
                "interval '1 microsecond', timestamptz 'epoch' + "
                "1700000000123456 * interval '1 microsecond', "
                "4294967295, timestamptz 'epoch' + "
                "1500000000123456 * interval '1 microsecond', "
                "<16390:742>, <abc>, <slot_missing and more>, <orders=b>)"));
}

TEST(CheckpointSqlTest, ReplacesEveryColumnOfAnEarlierCheckpoint) {
  const std::string sql =
      SaveCheckpointSql(kTable, *ParseCheckpointRow(Row()), Quote);
  const std::string update = sql.substr(sql.find("DO UPDATE SET"));
  for (const char* column :
       {"system_identifier", "timeline", "birth", "confirmed", "commit_lsn",
        "ordinal", "numbering", "transaction_horizon", "server_started_at",
        "written_at", "commit_xid", "commit_time", "coverage", "kafka_cluster",
        "gap", "kafka_topics"}) {
    const std::string name(column);
    EXPECT_THAT(update, HasSubstr(" " + name + " = excluded." + name));
  }
}

TEST(CheckpointSqlTest, QuotesTheSlotToLoad) {
  EXPECT_THAT(LoadCheckpointSql("a.B", "s", Quote),
              HasSubstr(R"(FROM "a"."B" WHERE slot = <s>)"));
}

TEST(CheckpointSqlTest, MakesATableOfAnyName) {
  EXPECT_THAT(CreateCheckpointTableSql(kTable),
              HasSubstr("create table if not exists "
                        "public.walpost_checkpoint ("));
  const std::string sql = CreateCheckpointTableSql("App.point");
  EXPECT_THAT(sql, HasSubstr(R"(create table if not exists "App"."point" ()"));
  EXPECT_THAT(sql, Not(HasSubstr("public")));
}

TEST(CheckpointSqlTest, ShowsTheWholeScript) {
  const std::string script = CheckpointTableScript("App.point");
  EXPECT_THAT(script, HasSubstr(R"(on "App"."point" to walpost;)"));
  EXPECT_THAT(script, HasSubstr("-- One row per slot"));
  EXPECT_THAT(script, Not(HasSubstr("public")));
}

TEST(CheckpointSqlTest, BringsATableOfAnOlderReleaseUpToDate) {
  EXPECT_EQ(AlterCheckpointTableSql("App.point"),
            R"(ALTER TABLE "App"."point" ADD COLUMN IF NOT EXISTS numbering )"
            "bigint NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS "
            "transaction_horizon xid8 NOT NULL DEFAULT '0', ADD COLUMN IF NOT "
            "EXISTS server_started_at timestamptz NOT NULL DEFAULT 'epoch', "
            "ADD COLUMN IF NOT EXISTS commit_xid bigint NOT NULL DEFAULT 0, "
            "ADD COLUMN IF NOT EXISTS commit_time timestamptz NOT NULL DEFAULT "
            "'epoch', ADD COLUMN IF NOT EXISTS coverage text NOT NULL DEFAULT "
            "'', ADD COLUMN IF NOT EXISTS kafka_cluster text NOT NULL DEFAULT "
            "'', ADD COLUMN IF NOT EXISTS gap text NOT NULL DEFAULT '', ADD "
            "COLUMN IF NOT EXISTS kafka_topics text NOT NULL DEFAULT ''");
}

TEST(CheckpointSqlTest, TellsAnOperatorWhatToRunOnOneLine) {
  const std::string sql = GrantCheckpointTableSql(kTable, "o'walpost");
  EXPECT_THAT(sql, Not(HasSubstr("\n")));
  EXPECT_THAT(sql, Not(HasSubstr("--")));
  EXPECT_THAT(sql, HasSubstr("create table if not exists "
                             "public.walpost_checkpoint (slot text"));
  EXPECT_THAT(sql, HasSubstr("fillfactor = 10); ALTER TABLE"));
  EXPECT_THAT(sql,
              HasSubstr(R"(GRANT USAGE ON SCHEMA "public" TO "o'walpost")"));
  EXPECT_THAT(sql, HasSubstr("GRANT SELECT, INSERT, UPDATE ON"));
}

}  // namespace
}  // namespace walpost
