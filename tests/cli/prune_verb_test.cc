// walpost prune, and the retention that run does by itself: which rows are
// deleted, and what is said of those that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "app/process/retention_service.h"
#include "checkpoint/birth_record.h"
#include "cli/verb_fixture.h"

namespace walpost {
namespace {

using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;
using ::testing::SizeIs;

// Words of the statements.
constexpr char kBegin[] = "SELECT now() - interval";
constexpr char kDelete[] = "DELETE FROM";
constexpr char kCount[] = "SELECT count(*) FILTER";
const std::optional<std::string> kNull;

class PruneVerbTest : public testing::VerbFixture {
 protected:
  PruneVerbTest() {
    AnswerGapDiagnosis();
    BirthRecord record;
    record.slot = "orders";
    record.consistent_point = Lsn(0x100);
    record.system_identifier = "77";
    record.streamed_from = 700;
    record.born_at = WallTime(std::chrono::seconds(1'700'000'000));
    record.coverage = "16388:690,public.outbox=16385.r16394:691";
    server_.Answer("obj_description", {{WithBirthRecord("", record)}});
    server_.Answer(kBegin, {{"2026-01-31 00:00:00+00", "f", kNull}});
    server_.Answer("pg_try_advisory_lock", {{"t"}});
    server_.Answer("c.relkind = 'p'",
                   {{"f", "outbox", kNull, "created_at", kNull}});
    server_.Answer("= 'DEFAULT'",
                   {{"outbox", kNull, kNull, "t", "163840", "f", "t"}});
    server_.Answer("pg_replication_slots slot",
                   {{"pgoutput", "reserved", "t", "0/100", "0/400", "f", "f",
                     "d", "d", "logical"}});
    server_.Answer("LEFT JOIN tables wanted",
                   {{"16388:690", "public.outbox", "16385.r16394:691"}});
    server_.Answer("pg_current_wal_insert_lsn", {{"745", "0/300"}});
    server_.Answer("pg_logical_emit_message", {{"0/308"}});
    server_.Answer(kDelete, {{"3", "2026-01-30 12:00:00+00"}});
    server_.Answer(kCount, {{"7", "2", "1"}});
    Set("kafka.brokers", "");
  }
};

TEST_F(PruneVerbTest, DeletesOldRowsThatWereSent) {
  const Outcome ended = Run("prune --older-than 7d --batch 5 --pause 0ms");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(whether Kafka still has the events was not asked: kafka.brokers is not set
public.outbox: 3 rows deleted, 2 as old are kept: not known to be sent
public.outbox: 1 of them have no proof: slot orders is known to send rows since transaction 700 and 2023-11-14T22:13:20Z; earlier rows, and those written into a table before it was attached as a partition, may be in Kafka or not: ask walpost verify -c FILE, then walpost prune -c FILE --assume-sent-before '2026-01-31 00:00:00+00' --older-than 7d
)");
  EXPECT_THAT(server_.StatementsWith(kBegin).back(),
              HasSubstr("604800000 milliseconds"));
  EXPECT_THAT(server_.StatementsWith(kDelete).back(), HasSubstr("LIMIT 5"));
}

TEST_F(PruneVerbTest, ADryRunOnlyCounts) {
  const Outcome ended = Run("prune --older-than 7d --dry-run");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(whether Kafka still has the events was not asked: kafka.brokers is not set
public.outbox: 7 rows would be deleted, 2 as old are kept: not known to be sent
public.outbox: 1 of them have no proof: slot orders is known to send rows since transaction 700 and 2023-11-14T22:13:20Z; earlier rows, and those written into a table before it was attached as a partition, may be in Kafka or not: ask walpost verify -c FILE, then walpost prune -c FILE --assume-sent-before '2026-01-31 00:00:00+00' --older-than 7d
)");
  EXPECT_THAT(server_.StatementsWith(kDelete), IsEmpty());
}

TEST_F(PruneVerbTest, TheAgeOfTheConfigurationIsOverridden) {
  Set("retention.keep", "1d");
  EXPECT_EQ(Run("prune").exit_code, kExitOk);
  EXPECT_THAT(server_.StatementsWith(kBegin).back(),
              HasSubstr("86400000 milliseconds"));
  EXPECT_EQ(Run("prune --older-than 2h").exit_code, kExitOk);
  EXPECT_THAT(server_.StatementsWith(kBegin).back(),
              HasSubstr("'7200000 milliseconds"));
}

TEST_F(PruneVerbTest, AnAssumedTimeHasItsZone) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"7d", "now() - interval '604800000 milliseconds'"},
      {"2026-01-31T00:00:00Z", "'2026-01-31 00:00:00.000000+00'::timestamptz"},
      {"2026-01-31T02:00:00+02:00",
       "'2026-01-31 00:00:00.000000+00'::timestamptz"},
  };
  for (const auto& [given, sql] : cases) {
    const Outcome ended =
        Run("prune --older-than 7d --assume-sent-before " + given);
    EXPECT_EQ(ended.exit_code, kExitOk) << given << ended.err;
    EXPECT_THAT(server_.StatementsWith(kBegin).back(), HasSubstr(sql)) << given;
  }
}

TEST_F(PruneVerbTest, WhatStopsThePassIsItsExitCode) {
  server_.Answer("pg_try_advisory_lock", {{"f"}});
  Outcome ended = Run("prune --older-than 7d");
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  server_.Answer("pg_try_advisory_lock", {{"t"}});
  server_.Answer("pg_replication_slots slot", {});
  ended = Run("prune --older-than 7d");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("slot_missing"));
  EXPECT_THAT(server_.StatementsWith(kDelete), IsEmpty());
}

class RetentionServiceTest : public PruneVerbTest {
 protected:
  RetentionServiceTest() {
    config_.postgres.server = server_.options();
    config_.postgres.slot = "orders";
    config_.outbox.tables.resize(1);
    config_.outbox.tables[0].name = "public.outbox";
    config_.retention.keep = std::chrono::hours(24);
    config_.retention.interval = std::chrono::milliseconds(20);
    config_.retention.pause = std::chrono::milliseconds(0);
  }
  void Start() {
    service_.emplace(context_.get_executor(), config_,
                     [this] { return is_streaming_; });
    boost::asio::co_spawn(context_, service_->Run(), boost::asio::detached);
  }
  void RunUntil(const std::function<bool()>& is_done) {
    context_.restart();
    const MonotonicTime end =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_done() && std::chrono::steady_clock::now() < end) {
      context_.run_one_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(is_done());
  }

  Config config_;
  bool is_streaming_ = true;
  std::optional<RetentionService> service_;
};

TEST_F(RetentionServiceTest, P11PassAfterPassAddsUp) {
  Start();
  RunUntil([this] { return server_.StatementsWith(kBegin).size() >= 3; });
  const std::vector<RetentionReport> report = service_->Report();
  ASSERT_THAT(report, SizeIs(1));
  EXPECT_EQ(report[0].table, "public.outbox");
  EXPECT_EQ(report[0].pruned_rows % 3, 0u);
  EXPECT_GE(report[0].pruned_rows, 6u);
  EXPECT_EQ(report[0].kept_rows, 2u);
}

TEST_F(RetentionServiceTest, P11NothingIsDeletedByAStandby) {
  is_streaming_ = false;
  Start();
  context_.restart();
  context_.run_for(std::chrono::milliseconds(200));
  EXPECT_THAT(server_.StatementsWith(kBegin), IsEmpty());
}

TEST_F(RetentionServiceTest, WithoutAnAgeNothingIsDone) {
  config_.retention.keep = std::chrono::milliseconds(0);
  Start();
  context_.restart();
  context_.run_for(std::chrono::milliseconds(200));
  EXPECT_THAT(server_.StatementsWith(kBegin), IsEmpty());
  EXPECT_THAT(service_->Report(), IsEmpty());
}

}  // namespace
}  // namespace walpost
