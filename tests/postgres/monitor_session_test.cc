// The session beside the stream: each column of its report in its field, what
// it puts on record, and what it does when the server is gone.
#include "postgres/stream/monitor_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <string>

#include "base/reason_code.h"
#include "support/fake_postgres.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using namespace testing::wal_source;  // the words of the statements

constexpr char kDescribe[] = "LEFT JOIN pg_catalog.pg_class c ON c.oid = (";
constexpr char kActivity[] = "SELECT wait_event";
const std::optional<std::string> kNull;

class MonitorSessionTest : public ::testing::Test {
 protected:
  MonitorSessionTest() {
    options_.server = server_.options();
    options_.slot = "orders";
    options_.publication = "outbox";
    outbox_.messages.prefix = "outbox";
    routes_ = *Route::CreateAll(outbox_);
    testing::AnswerWalSource(server_);
    MakeSession();
  }
  void MakeSession() {
    session_.emplace(
        context_.get_executor(), options_, outbox_, routes_,
        "public.walpost_parked", [this] { ++shutdowns_; },
        [this](const SlotReport& report) { reports_.push_back(report); });
  }
  ~MonitorSessionTest() override {
    session_->Stop();
    RunUntil([this] { return !is_running_; });
  }

  void RunUntil(const std::function<bool()>& is_done) {
    context_.restart();
    while (!is_done() && context_.run_one_for(seconds(20)) > 0) continue;
    EXPECT_TRUE(is_done());
  }
  void Start() {
    is_running_ = true;
    boost::asio::co_spawn(
        context_,
        [this]() -> boost::asio::awaitable<void> {
          co_await session_->Run();
          is_running_ = false;
        },
        boost::asio::detached);
  }
  // Until the work behind the report is done, too.
  const SlotReport& NextReport() {
    if (!is_running_) Start();
    server_.Notify("now");
    const size_t reports = reports_.size() + 1;
    const size_t looks = server_.StatementsWith(kPartitions).size() + 1;
    RunUntil([&] {
      return reports_.size() >= reports &&
             server_.StatementsWith(kPartitions).size() >= looks;
    });
    return reports_.back();
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  WalSourceOptions options_;
  OutboxOptions outbox_;
  std::vector<Route> routes_;
  std::vector<SlotReport> reports_;
  int shutdowns_ = 0;
  bool is_running_ = false;
  std::optional<MonitorSession> session_;
};

TEST_F(MonitorSessionTest, P10EachColumnIsInItsField) {
  const SlotReport report = NextReport();
  EXPECT_EQ(report.server_wal_end, Lsn(0x500));
  EXPECT_EQ(report.timeline, 3u);
  EXPECT_TRUE(report.has_slot);
  EXPECT_EQ(report.wal.retained_bytes, 111u);
  EXPECT_EQ(report.wal.safe_wal_size, 222);
  EXPECT_EQ(report.wal_status, "extended");
  EXPECT_EQ(report.confirmed, Lsn(0x300));
  ASSERT_TRUE(report.guard.has_value());
  EXPECT_EQ(report.guard->confirmed, Lsn(0x280));
  EXPECT_EQ(report.guard->wal.retained_bytes, 333u);
  EXPECT_EQ(report.guard->wal.safe_wal_size, 444);
  EXPECT_FALSE(report.guard->is_lost);
  EXPECT_EQ(report.horizon.wal_end, Lsn(0x510));
  EXPECT_EQ(report.horizon.horizon.transaction_id, 745u);
  EXPECT_EQ(report.horizon.horizon.server_started_at,
            WallTime(microseconds(6'000'000)));
  EXPECT_FALSE(report.source.has_value()) << "nobody watches it";
  EXPECT_EQ(report.publication_trouble, "");
  EXPECT_EQ(report.gap, std::nullopt);
  EXPECT_EQ(report.pause, std::nullopt);
  EXPECT_GT(session_->reported_at(), MonotonicTime());
}

TEST_F(MonitorSessionTest, P9WithoutSlotsNothingIsMadeUp) {
  FakePostgres::Row row = testing::SideReport();
  for (const size_t column : {1, 2, 3, 4, 5, 6, 7, 8, 12}) row[column] = kNull;
  server_.Answer(kReport, {row});
  session_->WatchSource(true);
  const SlotReport report = NextReport();
  EXPECT_FALSE(report.has_slot);
  EXPECT_FALSE(report.guard.has_value());
  EXPECT_EQ(report.wal.safe_wal_size, std::nullopt);
  ASSERT_TRUE(report.source.has_value());
  EXPECT_FALSE(report.source->observed.slot.has_value());
}

TEST_F(MonitorSessionTest, P9ShowsTheSourceWhileThereIsNoStream) {
  FakePostgres::Row row = testing::SideReport();
  row[2] = "lost";
  server_.Answer(kReport, {row});
  session_->WatchSource(true);
  const SlotReport report = NextReport();
  ASSERT_TRUE(report.source.has_value());
  const ObservedSource& observed = report.source->observed;
  EXPECT_EQ(observed.system_identifier, "77");
  EXPECT_EQ(observed.timeline, 3u);
  EXPECT_EQ(observed.wal_end, Lsn(0x500));
  ASSERT_TRUE(observed.slot.has_value());
  EXPECT_EQ(observed.slot->confirmed, Lsn(0x300));
  EXPECT_TRUE(observed.slot->is_lost);
  EXPECT_TRUE(observed.slot->failover);
  EXPECT_THAT(observed.coverage, HasSubstr("16388:690"));
  ASSERT_TRUE(report.source->record.has_value());
  EXPECT_EQ(report.source->record->consistent_point, Lsn(0x150));
  EXPECT_EQ(report.source->parking, std::nullopt);
}

TEST_F(MonitorSessionTest, P9ASlotInUseShowsNoSource) {
  FakePostgres::Row row = testing::SideReport();
  row[13] = "t";
  server_.Answer(kReport, {row});
  session_->WatchSource(true);
  EXPECT_FALSE(NextReport().source.has_value());
}

TEST_F(MonitorSessionTest, P9AMissingTableOfParkedEventsIsAGap) {
  server_.Answer(kComments,
                 {{testing::BirthOfOrders({"public.walpost_parked", 16421})}});
  server_.Answer(kDescribe,
                 {{kNull, kNull, kNull, "", kNull, "f", kNull, "t", "f"}});
  session_->WatchSource(true);
  const SlotReport report = NextReport();
  ASSERT_TRUE(report.source.has_value());
  ASSERT_TRUE(report.source->parking.has_value());
  EXPECT_EQ(report.source->parking->code, kReasonParkedTableMissing);
}

TEST_F(MonitorSessionTest, AMissingRightLeavesTheSystemUnknown) {
  server_.Fail(kSystem, "42501", "permission denied");
  session_->WatchSource(true);
  EXPECT_EQ(NextReport().source->observed.system_identifier, "");
}

TEST_F(MonitorSessionTest, P8DecisionsAreReadOnlyWhileTheyAreWaitedFor) {
  EventDecision decision;
  decision.slot = "orders";
  decision.position = {Lsn(0x300), 2};
  decision.system_identifier = "77";
  decision.timeline = 3;
  decision.numbering = 5;
  decision.digest = "i1";
  decision.by = "alice";
  const PauseRecord pause{true, "bob", WallTime(seconds(50)), "upgrade"};
  const std::string comment =
      WithPause(WithDecision(testing::BirthOfOrders(), decision),
                PauseSubject("orders"), pause);
  server_.Answer(kComments, {{comment}});
  EXPECT_THAT(NextReport().decisions, IsEmpty());
  EXPECT_EQ(reports_.back().pause, pause);
  session_->WatchDecisions(true);
  EXPECT_THAT(NextReport().decisions, ElementsAre(decision));
}

TEST_F(MonitorSessionTest, P8ThatADecisionWasObeyedIsOnRecordOnce) {
  EventDecision decision;
  decision.slot = "orders";
  decision.position = {Lsn(0x300), 2};
  decision.system_identifier = "77";
  decision.timeline = 3;
  decision.numbering = 5;
  decision.digest = "i1";
  decision.by = "alice";
  session_->NoteObeyed(decision);
  NextReport();
  ASSERT_THAT(server_.StatementsWith(kComment), SizeIs(1));
  const auto found = FindDecisions(
      testing::CommentOf(server_.StatementsWith(kComment)[0]), "orders");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found[0].was_obeyed);
  NextReport();
  EXPECT_THAT(server_.StatementsWith(kComment), SizeIs(1));
}

// Who looks for letters must know each topic that has had some.
TEST_F(MonitorSessionTest, P11ALetterTopicIsOnRecordAlsoAfterAnError) {
  server_.Fail(kComment, "40001", "serialization failure");
  session_->NoteLetterTopic("letters");
  NextReport();
  server_.Answer(kComment, {});
  NextReport();
  ASSERT_THAT(server_.StatementsWith(kComment), SizeIs(2));
  const auto record = FindBirthRecord(
      testing::CommentOf(server_.StatementsWith(kComment)[1]), "orders");
  ASSERT_TRUE(record.has_value());
  EXPECT_THAT(record->letter_topics, ElementsAre("letters"));
  NextReport();
  EXPECT_THAT(server_.StatementsWith(kComment), SizeIs(2));
}

TEST_F(MonitorSessionTest, P9WhatIsPassedOverIsOnRecordAtOnce) {
  PassedOverRows rows(PassedOverRows::Kept::kOnRecord);
  session_->KeepOnRecord(rows);
  NextReport();
  rows.OnRow(16500, "public.other", Lsn(0x400));
  ASSERT_TRUE(rows.is_due());
  session_->RecordPassedOver();
  RunUntil([&] { return !rows.is_due(); });
  EXPECT_THAT(server_.StatementsWith(kComment),
              ElementsAre(HasSubstr("16500")));
}

TEST_F(MonitorSessionTest, P10AFastShutdownIsTold) {
  NextReport();
  server_.Drop(kReport);
  server_.Refuse("57P03", "the database system is shutting down");
  RunUntil([this] { return shutdowns_ > 0; });
  EXPECT_THAT(session_->unseen_because(), HasSubstr("shutting down"));
}

TEST_F(MonitorSessionTest, P10OtherErrorsAreNoShutdownAndEndTheSessionOnly) {
  server_.Drop(kReport);
  Start();
  RunUntil([this] { return server_.connections() > 1; });
  EXPECT_EQ(shutdowns_, 0);
  EXPECT_THAT(reports_, IsEmpty());
  server_.Answer(kReport, {testing::SideReport()});
  EXPECT_TRUE(NextReport().has_slot);
}

TEST_F(MonitorSessionTest, AStandbyIsNotReported) {
  server_.Answer(kReport, {});
  Start();
  RunUntil([this] { return server_.connections() > 1; });
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_THAT(session_->unseen_because(), HasSubstr("has reached a standby"));
}

TEST_F(MonitorSessionTest, WhatASessionWaitsForIsForgottenWithIt) {
  server_.Answer(kCreation, {{"orders", "42", "walpost:orders"}});
  server_.Answer("pg_blocking_pids", {});
  server_.Answer(kActivity, {{"SyncRep", "standby1"}});
  session_->WatchSession(4711);
  NextReport();
  EXPECT_THAT(session_->slot_creation(), HasSubstr("is being created"));
  EXPECT_THAT(session_->session_wait(), HasSubstr("'standby1'"));
  session_->WatchSession(0);
  NextReport();
  EXPECT_EQ(session_->session_wait(), "");
  server_.Drop(kReport);
  const size_t connections = server_.connections();
  RunUntil([&] { return session_->slot_creation().empty(); });
  server_.Answer(kReport, {testing::SideReport()});
  RunUntil([&] { return server_.connections() > connections; });
}

TEST_F(MonitorSessionTest, P9APublicationThatStopsCoveringIsTold) {
  session_->SetReference({}, "16388:690", BaseTypes());
  EXPECT_EQ(NextReport().publication_trouble, "");
  server_.Answer(kDigest, {{"4 5 6"}});
  server_.Answer(kPublication, {{"f", "t", "insert", "f"}});
  const SlotReport report = NextReport();
  EXPECT_THAT(report.publication_trouble,
              HasSubstr("does not publish inserts"));
  EXPECT_TRUE(report.publication_is_wrong);
}

TEST_F(MonitorSessionTest, P10ATroubleThatIsOverIsNotTheReasonAnyMore) {
  server_.Fail(kReport, "57014", "canceled");
  Start();
  RunUntil([this] { return server_.connections() > 1; });
  EXPECT_THAT(session_->unseen_because(), HasSubstr("canceled"));
  server_.Answer(kReport, {testing::SideReport()});
  NextReport();
  EXPECT_THAT(session_->unseen_because(), HasSubstr("pid 4711"));
}

// Each statement of a report, and the looks beside it, in one session.
TEST_F(MonitorSessionTest, P10EachErrorOfAStatementEndsTheSession) {
  session_->WatchSource(true);
  session_->WatchSession(4711);
  server_.Answer(kActivity, {{"ClientRead", "idle"}});
  server_.Answer("pg_blocking_pids", {});
  const size_t before = server_.statements().size();
  NextReport();
  const std::vector<std::string> asked(
      server_.statements().begin() + static_cast<ptrdiff_t>(before),
      server_.statements().end());
  ASSERT_GT(asked.size(), 5u);
  for (size_t i = 0; i < asked.size(); ++i) {
    session_->Stop();
    RunUntil([this] { return !is_running_; });
    MakeSession();
    session_->WatchSource(true);
    session_->WatchSession(4711);
    const size_t connections = server_.connections();
    server_.FailAfter(i);
    Start();
    RunUntil([&] { return server_.connections() > connections + 1; });
    EXPECT_THAT(session_->unseen_because(), HasSubstr("canceled")) << asked[i];
    NextReport();
  }
}

}  // namespace
}  // namespace walpost
