// A poller's sessions: what keeps it from polling, what ends a session, how it
// begins again, and how it stops.
#include "polling/table_poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "support/fake_postgres.h"
#include "support/memory_sink.h"
#include "support/polled_table_answers.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using namespace testing::polling;  // the words of the statements

const std::optional<std::string> kNull;

class TablePollerTest : public ::testing::Test {
 protected:
  TablePollerTest() {
    options_.server = server_.options();
    options_.polling.strategy = PollingOptions::Strategy::kDelete;
    options_.outbox = testing::PolledOutbox();
    sender_ =
        std::make_unique<PollingSender>(*RecordBuilder::Create(options_.outbox),
                                        AcknowledgementWindow::Options());
    sender_->SetSink(&sink_);
    testing::AnswerPolledTable(server_);
    MakePoller();
  }
  ~TablePollerTest() override {
    poller_->Abandon();
    RunUntil([this] { return !is_running_; });
  }

  void MakePoller() {
    poller_ = std::make_unique<TablePoller>(context_.get_executor(), options_,
                                            *sender_);
  }
  void Start() {
    is_running_ = true;
    boost::asio::co_spawn(
        context_,
        [this]() -> boost::asio::awaitable<void> {
          co_await poller_->Run();
          is_running_ = false;
        },
        boost::asio::detached);
  }
  void RunUntil(const std::function<bool()>& is_done) {
    context_.restart();
    const MonotonicTime end = std::chrono::steady_clock::now() + seconds(20);
    while (!is_done() && std::chrono::steady_clock::now() < end) {
      context_.run_one_for(seconds(1));
    }
    EXPECT_TRUE(is_done());
  }
  std::string TroubleOfStart() {
    Start();
    RunUntil([this] { return !poller_->trouble().ok(); });
    EXPECT_FALSE(poller_->is_connected());
    return std::string(poller_->trouble().message());
  }
  void TakeOneRow() {
    server_.AnswerInTurn(kTake, {{{"a", "1", "order", "v1"}}, {}});
    Start();
    RunUntil([this] { return sink_.accepted().size() == 1; });
  }
  void AcknowledgeAll() {
    for (; acknowledged_ < sink_.accepted().size(); ++acknowledged_) {
      sender_->OnAcknowledged(sink_.accepted()[acknowledged_].sequence,
                              WallNow());
    }
    poller_->Wake();
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  TablePoller::Options options_;
  testing::MemorySink sink_;
  size_t acknowledged_ = 0;
  std::unique_ptr<PollingSender> sender_;
  std::unique_ptr<TablePoller> poller_;
  bool is_running_ = false;
};

TEST_F(TablePollerTest, P1ARowIsDeletedWhenKafkaHasIt) {
  TakeOneRow();
  EXPECT_THAT(sink_.Values(), ElementsAre("v1"));
  EXPECT_THAT(server_.StatementsWith(kDelete), IsEmpty());
  AcknowledgeAll();
  RunUntil([this] { return !server_.StatementsWith(kDelete).empty(); });
  EXPECT_TRUE(poller_->is_connected());
  EXPECT_TRUE(poller_->trouble().ok());
  EXPECT_EQ(poller_->sessions(), 1u);
}

TEST_F(TablePollerTest, P10StopSettlesTheRowsThatItHolds) {
  TakeOneRow();
  poller_->Stop();
  context_.restart();
  context_.run_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(poller_->has_ended()) << "a row is in flight";
  AcknowledgeAll();
  RunUntil([this] { return poller_->has_ended(); });
  EXPECT_THAT(server_.StatementsWith(kDelete), ElementsAre(HasSubstr("\"a\"")));
}

TEST_F(TablePollerTest, P10AbandonLeavesThemToTheNext) {
  TakeOneRow();
  poller_->Abandon();
  RunUntil([this] { return poller_->has_ended(); });
  EXPECT_THAT(server_.StatementsWith(kDelete), IsEmpty());
}

TEST_F(TablePollerTest, ALostConnectionBeginsAnotherSession) {
  server_.Drop(kTake);
  Start();
  RunUntil([this] { return poller_->sessions() == 2; });
  EXPECT_GE(server_.connections(), 2u);
  server_.AnswerInTurn(kTake, {{{"a", "1", "order", "v1"}}, {}});
  RunUntil([this] { return sink_.accepted().size() == 1; });
  EXPECT_TRUE(poller_->is_connected());
  EXPECT_TRUE(poller_->trouble().ok());
}

TEST_F(TablePollerTest, TheReportHasEachColumnInItsField) {
  server_.Answer(kGauges, {{"5", "3", "a", "2.5"}});
  Start();
  RunUntil([this] { return poller_->report().pending == 5; });
  EXPECT_EQ(poller_->report().table, "app.outbox");
  EXPECT_EQ(poller_->report().failed, 3u);
}

TEST_F(TablePollerTest, NothingIsTakenFromAPausedTable) {
  const PauseRecord pause{true, "alice", WallTime(seconds(50)), "upgrade"};
  server_.Answer(kComment, {{WithPause("", kPollingPauseSubject, pause)}});
  Start();
  RunUntil([this] { return poller_->pause().has_value(); });
  EXPECT_EQ(poller_->pause(), pause);
  const size_t taken = server_.StatementsWith(kTake).size();
  context_.restart();
  context_.run_for(std::chrono::milliseconds(300));
  EXPECT_THAT(server_.StatementsWith(kTake), SizeIs(taken));
  const PauseRecord resumed{false, "bob", WallTime(seconds(60)), ""};
  server_.Answer(kComment, {{WithPause("", kPollingPauseSubject, resumed)}});
  RunUntil([&] { return server_.StatementsWith(kTake).size() > taken; });
  EXPECT_EQ(poller_->pause(), std::nullopt);
}

TEST_F(TablePollerTest, NothingIsTakenWithoutAProducer) {
  sender_->SetSink(nullptr);
  Start();
  RunUntil([this] { return poller_->is_connected(); });
  context_.restart();
  context_.run_for(std::chrono::milliseconds(200));
  EXPECT_THAT(server_.StatementsWith(kTake), IsEmpty());
  sender_->SetSink(&sink_);
  RunUntil([this] { return !server_.StatementsWith(kTake).empty(); });
}

TEST_F(TablePollerTest, ListensToTheConfiguredChannel) {
  options_.polling.notify = "outbox";
  options_.polling.interval = seconds(100);
  MakePoller();
  Start();
  RunUntil([this] { return server_.StatementsWith(kTake).size() == 1; });
  EXPECT_THAT(server_.StatementsWith("LISTEN"),
              ElementsAre("LISTEN \"outbox\""));
  server_.Notify("outbox");
  RunUntil([this] { return server_.StatementsWith(kTake).size() == 2; });
}

struct Refusal {
  const char* name;
  const char* statement;
  FakePostgres::Rows answer;
  const char* text;
  PollingOptions::Strategy strategy = PollingOptions::Strategy::kDelete;
};

class TablePollerRefusalTest : public TablePollerTest,
                               public ::testing::WithParamInterface<Refusal> {};

TEST_P(TablePollerRefusalTest, ATableThatCannotBePolledIsRefused) {
  const Refusal& refusal = GetParam();
  options_.polling.strategy = refusal.strategy;
  MakePoller();
  server_.Answer(refusal.statement, refusal.answer);
  const std::string trouble = TroubleOfStart();
  EXPECT_THAT(trouble, HasSubstr("table app.outbox "));
  EXPECT_THAT(trouble, HasSubstr(refusal.text));
  EXPECT_THAT(server_.StatementsWith(kTake), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, TablePollerRefusalTest,
    ::testing::Values(Refusal{"missing_table", kColumns, {}, "does not exist"},
                      Refusal{"missing_column",
                              kColumns,
                              {{"0", "id", "25", "text", "", kNull}},
                              "has no column seq, which order_by names"},
                      Refusal{"missing_right",
                              kPrivilege,
                              {{"f", "relay", "t"}},
                              "role relay may not SELECT, UPDATE, DELETE it"},
                      Refusal{"missing_usage",
                              kPrivilege,
                              {{"t", "relay", "f"}},
                              "role relay may not use its schema"},
                      Refusal{"no_index_of_the_id",
                              kIndexes,
                              {{"seq", kNull, "t"}},
                              "has no index on id, by which rows are marked"},
                      Refusal{"no_index_of_the_order",
                              kIndexes,
                              {{"id", kNull, "t"}},
                              "has no index on seq"},
                      Refusal{"a_publication_sends_deletes",
                              kIdentity,
                              {{"app.outbox", "everything"}},
                              "publication everything sends DELETEs"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(TablePollerTest, AnErrorOfTheCheckIsNotAMissingTable) {
  server_.Fail(kColumns, "57014", "canceled");
  const std::string trouble = TroubleOfStart();
  EXPECT_THAT(trouble, HasSubstr("canceled"));
  EXPECT_THAT(trouble, Not(HasSubstr("does not exist")));
}

}  // namespace
}  // namespace walpost
