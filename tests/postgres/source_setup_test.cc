// Before a stream: what is read, what stops it, what is made and put on record,
// and where it begins.
#include "postgres/stream/source_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "base/sqlstate.h"
#include "delivery/gap.h"
#include "postgres/connect/instance_name.h"
#include "support/each_statement.h"
#include "support/fake_postgres.h"
#include "support/sender_fixture.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using namespace testing::wal_source;  // the words of the statements

const std::optional<std::string> kNull;

class SourceSetupTest : public testing::SenderFixture {
 protected:
  SourceSetupTest() {
    options_.slot = "orders";
    options_.publication = "outbox";
    outbox_.messages.prefix = "outbox";
    routes_ = *Route::CreateAll(outbox_);
    server_.Answer("SELECT EXISTS", {{"f"}});
    testing::AnswerWalSource(server_);
    MakeSetup();
  }

  void MakeSetup() {
    continuity_.emplace("orders", progress_);
    setup_.emplace(options_, outbox_, name_, routes_, *continuity_);
    setup_->SetKafkaCluster("cluster");
  }
  absl::Status Run() {
    connection_ = testing::Connect(context_, server_);
    return Await(context_, setup_->Run(*connection_));
  }
  std::string Begin() {
    const auto started = server_.StatementsWith(kStart);
    return started.empty() ? "" : started.back();
  }
  BirthRecord Written() {
    const auto written = server_.StatementsWith(kComment);
    if (written.empty()) return {};
    return FindBirthRecord(testing::CommentOf(written.back()), "orders")
        .value_or(BirthRecord());
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_;
  WalSourceOptions options_;
  OutboxOptions outbox_;
  std::vector<Route> routes_;
  const InstanceName name_ = InstanceName::OfThisProcess("orders");
  std::optional<ContinuityState> continuity_;
  std::optional<SourceSetup> setup_;
};

TEST_F(SourceSetupTest, P2BeginsWhereTheSlotStands) {
  const absl::Status status = Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Begin(), HasSubstr("SLOT \"orders\" LOGICAL 0/200 ("));
  EXPECT_EQ(setup_->slot_position(), Lsn(0x200));
  EXPECT_EQ(setup_->server_version(), 170002);
  EXPECT_TRUE(continuity_->has_streamed());
  EXPECT_EQ(continuity_->observed().system_identifier, "77");
  EXPECT_EQ(continuity_->observed().timeline, 3u);
  EXPECT_EQ(continuity_->observed().wal_end, Lsn(0x500));
  EXPECT_TRUE(continuity_->observed().may_write_record);
  EXPECT_THAT(server_.StatementsWith(kCreate), IsEmpty());
}

// With --from-lsn, until something is confirmed.
TEST_F(SourceSetupTest, P2NothingFromBeforeTheBirthIsOurs) {
  server_.Answer(kSlot, testing::SlotAt("0/120"));
  ASSERT_TRUE(Run().ok());
  EXPECT_THAT(Begin(), HasSubstr("LOGICAL 0/150 ("));
  EXPECT_EQ(setup_->slot_position(), Lsn(0x120));
}

TEST_F(SourceSetupTest, P9TheFirstStartPutsTheBirthOnRecord) {
  server_.Answer(kComments, {{"kept"}});
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Written().consistent_point, Lsn(0x200));
  EXPECT_EQ(Written().system_identifier, "77");
  EXPECT_EQ(Written().timeline, 3u);
  EXPECT_EQ(Written().kafka_cluster, "cluster");
  EXPECT_EQ(Written().streamed_from, 745u);
  EXPECT_THAT(server_.StatementsWith(kComment).back(), HasSubstr("kept"));
}

TEST_F(SourceSetupTest, ASlotIsMadeOnlyIfThatIsAskedFor) {
  server_.Answer(kComments, {{""}});
  server_.Answer(kSlot, {});
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not exist"));
  options_.create = true;
  server_.AnswerInTurn(kSlot, {{}, {}, {}, testing::SlotAt("0/300")});
  MakeSetup();
  const absl::Status made = Run();
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_THAT(server_.StatementsWith(kCreate), SizeIs(1));
  EXPECT_THAT(Begin(), HasSubstr("LOGICAL 0/300 ("));
  EXPECT_EQ(Written().consistent_point, Lsn(0x300));
}

// Nobody would know that it was there before.
TEST_F(SourceSetupTest, P9ASlotWhoseBirthCannotBeRecordedIsNotMade) {
  options_.create = true;
  MakeSetup();
  server_.Answer(kComments, {{""}});
  server_.Answer(kSlot, {});
  server_.Answer(kRights, {{"relay", "f"}});
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("role relay"));
  EXPECT_THAT(server_.StatementsWith(kCreate), IsEmpty());
}

TEST_F(SourceSetupTest, P9AMissingSlotIsAGapOnRecord) {
  options_.create = true;
  MakeSetup();
  server_.Answer(kSlot, {});
  const absl::Status status = Run();
  ASSERT_TRUE(GapOf(status).has_value()) << status;
  EXPECT_EQ(Written().gap, GapOf(status)->code);
  EXPECT_THAT(server_.StatementsWith(kCreate), IsEmpty());
  EXPECT_EQ(Begin(), "");
}

TEST_F(SourceSetupTest, P9AnotherClusterIsAGapThoughItsRecordIsKept) {
  server_.Answer(kIdentify, {{"78", "3", "0/500", "d"}});
  server_.Fail(kComment, "42501", "must be owner");
  const absl::Status status = Run();
  EXPECT_TRUE(GapOf(status).has_value()) << status;
  EXPECT_EQ(Begin(), "");
}

TEST_F(SourceSetupTest, P9ALostSlotIsAGap) {
  server_.Answer(kSlot, testing::SlotAt("0/200", "f", "lost"));
  EXPECT_TRUE(GapOf(Run()).has_value());
  EXPECT_EQ(Begin(), "");
}

TEST_F(SourceSetupTest, ASlotInUseIsWaitedFor) {
  server_.Answer(kSlot, testing::SlotAt("0/200", "t"));
  server_.Answer("pg_replication_slots s LEFT",
                 {{"4711", "psql", "f", kNull, "f", "f"}});
  server_.Answer("pg_stat_activity", {{"4711", "psql", "f", kNull, "f", "f"}});
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(SqlstateOf(status), kSqlstateObjectInUse);
  EXPECT_EQ(Begin(), "");
}

// A walsender that an earlier run has left behind is ended, but not by an
// instance that has streamed: it may be its own.
TEST_F(SourceSetupTest, ADeadPredecessorIsEndedBeforeTheFirstStream) {
  constexpr char kEnd[] = "pg_terminate_backend";
  std::string dead = InstanceName::OfThisProcess("orders").text();
  dead = dead.substr(0, dead.rfind(':')) + ":2000000000";
  server_.Answer("pg_stat_activity", {{"4711", dead, "f", kNull, "t", "f"}});
  server_.Answer(kEnd, {{"t"}});
  server_.Answer(kSlot, testing::SlotAt("0/200", "t"));
  EXPECT_TRUE(absl::IsUnavailable(Run()));
  EXPECT_THAT(server_.StatementsWith(kEnd), ElementsAre(HasSubstr("(4711)")));
  server_.Answer(kSlot, testing::SlotAt("0/200"));
  ASSERT_TRUE(Run().ok());
  server_.Answer(kSlot, testing::SlotAt("0/200", "t"));
  EXPECT_TRUE(absl::IsUnavailable(Run()));
  EXPECT_THAT(server_.StatementsWith(kEnd), SizeIs(1));
}

TEST_F(SourceSetupTest, P8DecisionsAndPausesAreKnownBeforeTheStream) {
  EventDecision decision;
  decision.slot = "orders";
  decision.position = {Lsn(0x300), 2};
  decision.system_identifier = "77";
  decision.timeline = 3;
  decision.numbering = 5;
  decision.digest = "i1";
  decision.by = "alice";
  const PauseRecord pause{true, "bob", WallTime(std::chrono::seconds(50)), ""};
  server_.Answer(kComments,
                 {{WithPause(WithDecision(testing::BirthOfOrders(), decision),
                             PauseSubject("orders"), pause)}});
  ASSERT_TRUE(Run().ok());
  EXPECT_THAT(setup_->decisions(), SizeIs(1));
  EXPECT_EQ(setup_->pause(), pause);
  server_.Answer(kComments, {{testing::BirthOfOrders()}});
  ASSERT_TRUE(Run().ok());
  EXPECT_THAT(setup_->decisions(), IsEmpty());
  EXPECT_EQ(setup_->pause(), std::nullopt);
}

TEST_F(SourceSetupTest, P2FromLsnIsForTheFirstStartOnly) {
  options_.from_lsn = Lsn(0x250);
  MakeSetup();
  ASSERT_TRUE(Run().ok());
  EXPECT_THAT(Begin(), HasSubstr("LOGICAL 0/200 ("));
  server_.Answer(kComments, {{""}});
  MakeSetup();
  ASSERT_TRUE(Run().ok());
  EXPECT_THAT(Begin(), HasSubstr("LOGICAL 0/250 ("));
  EXPECT_EQ(Written().consistent_point, Lsn(0x250));
}

TEST_F(SourceSetupTest, P1FromLsnPassesOverNothing) {
  server_.Answer(kComments, {{""}});
  const auto refusal = [this](uint64_t from) {
    options_.from_lsn = Lsn(from);
    MakeSetup();
    const absl::Status status = Run();
    return absl::IsFailedPrecondition(status) ? std::string(status.message())
                                              : "";
  };
  EXPECT_THAT(refusal(0x1FF), HasSubstr("sends nothing from before that"));
  EXPECT_EQ(refusal(0x200), "");
  EXPECT_EQ(refusal(0x500), "");
  EXPECT_THAT(refusal(0x501), HasSubstr("the server's WAL ends at 0/500"));
  server_.Answer(kSlot, {});
  EXPECT_THAT(refusal(0x300), HasSubstr("slot orders does not exist"));
  server_.Answer(kSlot, testing::SlotAt("0/200"));
  server_.Fail(kComment, "42501", "must be owner");
  EXPECT_THAT(refusal(0x500), HasSubstr("would not know that slot orders"));
}

TEST_F(SourceSetupTest, P9AnErrorIsNoAnswer) {
  for (const char* words : {kIdentify, kSlot, kComments, kCoverage, kRights,
                            kSettings, kPublication, kFence}) {
    MakeSetup();
    const size_t started = server_.StatementsWith(kStart).size();
    server_.Drop(words);
    EXPECT_TRUE(absl::IsUnavailable(Run())) << words;
    EXPECT_THAT(server_.StatementsWith(kStart), SizeIs(started)) << words;
    testing::AnswerWalSource(server_);
  }
}

struct Setting {
  const char* name;
  size_t column;
  const char* value;
  const char* subject;
  Severity severity;
};

class PreflightTest : public SourceSetupTest,
                      public ::testing::WithParamInterface<Setting> {};

TEST_P(PreflightTest, JudgesASettingOfTheServer) {
  const Setting& setting = GetParam();
  FakePostgres::Row row = {"logical", "50GB", "on", "",  "0", "0",
                           "relay",   "t",    "f",  "t", "t"};
  row[setting.column] = setting.value;
  server_.Answer(kSettings, {row});
  const absl::Status status = Run();
  EXPECT_EQ(status.ok(), setting.severity != Severity::kError) << status;
  if (!status.ok()) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(setting.subject));
    return;
  }
  const auto& findings = setup_->findings();
  const auto found = std::find_if(
      findings.begin(), findings.end(),
      [&](const Finding& one) { return one.subject == setting.subject; });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, setting.severity) << found->text;
}

INSTANTIATE_TEST_SUITE_P(
    All, PreflightTest,
    ::testing::Values(
        Setting{"no_logical", 9, "f", "wal_level", Severity::kError},
        Setting{"logical", 9, "t", "wal_level", Severity::kOk},
        Setting{"standby", 8, "t", "server", Severity::kError},
        Setting{"unlimited", 1, "-1", "max_slot_wal_keep_size",
                Severity::kWarning},
        Setting{"limited", 1, "1GB", "max_slot_wal_keep_size", Severity::kOk},
        Setting{"asynchronous", 2, "off", "synchronous_commit",
                Severity::kNote},
        Setting{"all_standbys", 3, "*", "synchronous_standby_names",
                Severity::kWarning},
        Setting{"slot_exists", 4, "0", "max_replication_slots", Severity::kOk},
        Setting{"last_sender", 5, "0", "max_wal_senders", Severity::kOk},
        Setting{"no_sender", 5, "-1", "max_wal_senders", Severity::kError},
        Setting{"no_attribute", 7, "f", "role relay", Severity::kNote}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(SourceSetupTest, TheLastSlotCanBeUsedUp) {
  options_.create = true;
  MakeSetup();
  server_.Answer(kComments, {{""}});
  server_.Answer(kSlot, {});
  server_.Answer(kSettings, {{"logical", "50GB", "on", "", "0", "0", "relay",
                              "t", "f", "t", "t"}});
  EXPECT_THAT(std::string(Run().message()),
              HasSubstr("max_replication_slots is used up"));
}

// That the birth is not on record, and what is left of a guard slot, is said in
// the log.
TEST_F(SourceSetupTest, P9EachErrorOfAStatementBeginsNoStream) {
  options_.create = true;
  const auto run = [this] {
    server_.Answer(kComments, {{""}});
    server_.AnswerInTurn(kSlot, {{}, {}, {}, testing::SlotAt("0/300")});
    MakeSetup();
    return Run();
  };
  EXPECT_THAT(
      testing::UnreportedFailures(server_, run),
      ElementsAre(HasSubstr("orders_guard"), HasSubstr("pg_advisory_lock"),
                  HasSubstr(kComments), HasSubstr(kComment),
                  HasSubstr("pg_advisory_unlock")));
}

}  // namespace
}  // namespace walpost
