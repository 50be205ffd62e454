// What `walpost check` says about the record of a slot, and whether the guard
// slot follows it.
#include "postgres/slot/birth_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <string>

#include "postgres/stream/replay_window_service.h"
#include "support/log_lines.h"
#include "support/wal_source_answers.h"

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
using namespace testing::wal_source;  // the words of the statements

class BirthCheckTest : public ::testing::Test {
 protected:
  BirthCheckTest() {
    options_.slot = "orders";
    options_.publication = "outbox";
    options_.server = server_.options();
    testing::AnswerWalSource(server_);
  }

  absl::StatusOr<Findings> Check(bool has_store = false) {
    connection_ = testing::Connect(context_, server_);
    BirthCheck check(*connection_, options_, outbox_, has_store,
                     has_other_user_);
    return Await(context_, check.Run());
  }
  Finding One(bool has_store = false) {
    const auto found = Check(has_store);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() && !found->empty()
               ? found->front()
               : Finding{Severity::kOk, FindingId(""), "", "", ""};
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_;
  WalSourceOptions options_;
  OutboxOptions outbox_;
  bool has_other_user_ = false;
};

TEST_F(BirthCheckTest, P9ARecordOfThisSystemIsInOrder) {
  EXPECT_EQ(One().severity, Severity::kOk);
  EXPECT_EQ(One().id, FindingId("birth_record_ok"));
  EXPECT_EQ(One().subject, "birth of slot orders");
  server_.Answer(kIdentify, {{"78", "3", "0/500", "d"}});
  EXPECT_EQ(One().severity, Severity::kError);
  EXPECT_EQ(One().id, FindingId("other_cluster"));
  EXPECT_THAT(One().text, HasSubstr("as of system 77, and this is system 78"));
}

TEST_F(BirthCheckTest, P9ASlotThatIsMissingIsAnErrorIfItIsOnRecord) {
  server_.Answer(kSlot, {});
  EXPECT_EQ(One().severity, Severity::kError);
  EXPECT_EQ(One().id, FindingId("slot_missing"));
  EXPECT_THAT(One().text, HasSubstr("at 0/150, but the slot is missing"));
}

TEST_F(BirthCheckTest, P9WithoutARecordARunWritesIt) {
  server_.Answer(kComments, {{""}});
  EXPECT_EQ(One().severity, Severity::kNote);
  EXPECT_EQ(One().id, FindingId("birth_record_pending"));
  server_.Answer(kRights, {{"relay", "f"}});
  EXPECT_EQ(One().severity, Severity::kWarning);
  EXPECT_EQ(One().id, FindingId("birth_record_not_writable"));
  EXPECT_THAT(One().remedy, HasSubstr("COMMENT ON PUBLICATION \"outbox\" IS "
                                      "'walpost: slot orders born at 0/200"));
  server_.Answer(kSlot, {});
  EXPECT_EQ(One().severity, Severity::kWarning);
  EXPECT_EQ(One().id, FindingId("birth_record_not_writable"));
  options_.create = true;
  EXPECT_EQ(One().severity, Severity::kError);
  EXPECT_EQ(One().id, FindingId("birth_record_not_writable"));
}

// It would void run --from-lsn, and say that walpost began before it did.
TEST_F(BirthCheckTest, P9ASlotOfAnotherProgramIsNotBornYet) {
  server_.Answer(kComments, {{""}});
  server_.Answer(kRights, {{"relay", "f"}});
  has_other_user_ = true;
  EXPECT_EQ(One().id, FindingId("birth_record_not_writable"));
  EXPECT_THAT(One().remedy, HasSubstr("when the other program is stopped"));
  EXPECT_THAT(One().remedy, Not(HasSubstr("COMMENT ON")));
}

TEST_F(BirthCheckTest, ARoleThatMayNotChangeTheRecordIsTold) {
  server_.Answer(kRights, {{"relay", "f"}});
  EXPECT_EQ(One().severity, Severity::kNote);
  EXPECT_EQ(One().id, FindingId("birth_record_read_only"));
  EXPECT_THAT(One().text, HasSubstr("role relay does not own"));
}

TEST_F(BirthCheckTest, P9ANewTableThatCannotBePutOnRecordIsAnError) {
  server_.Answer(kRights, {{"relay", "f"}});
  server_.Answer(kCoverage, {{"16388:690", "app.new", "16400.r16401:692"}});
  outbox_.tables.resize(1);
  outbox_.tables[0].name = "app.new";
  const auto found = Check();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_EQ(found->back().severity, Severity::kError);
  EXPECT_EQ(found->back().id, FindingId("new_table_not_recordable"));
  EXPECT_EQ(found->back().subject, "table app.new");
  EXPECT_THAT(*Check(/*has_store=*/true), SizeIs(1));
  server_.Answer(kRights, {{"relay", "t"}});
  EXPECT_THAT(*Check(), SizeIs(1));
}

TEST_F(BirthCheckTest, WithoutAPublicationThereIsNothingToSay) {
  server_.Answer(kRights, {{"relay", std::nullopt}});
  EXPECT_THAT(*Check(), IsEmpty());
  server_.Fail(kRights, "57014", "canceled");
  EXPECT_FALSE(Check().ok());
}

constexpr char kAdvance[] = "pg_replication_slot_advance";
constexpr char kCopy[] = "pg_copy_logical_replication_slot";

class ReplayWindowServiceTest : public BirthCheckTest {
 protected:
  ReplayWindowServiceTest() {
    options_.replay.window_bytes = 0x100;
    options_.replay.window_time = seconds(0);
    server_.Answer(kAdvance, {{"(guard,0/380)"}});
    server_.Answer(kCopy, {{"0/100"}});
    server_.Answer(kSlot, {});
    MakeService();
  }
  ~ReplayWindowServiceTest() override {
    service_->Stop();
    context_.restart();
    while (is_running_ && context_.run_one_for(seconds(5)) > 0) continue;
  }
  void MakeService() { service_.emplace(context_.get_executor(), options_); }
  void Run(std::chrono::milliseconds time) {
    if (!is_running_) {
      is_running_ = true;
      boost::asio::co_spawn(
          context_,
          [this]() -> boost::asio::awaitable<void> {
            co_await service_->Run();
            is_running_ = false;
          },
          boost::asio::detached);
    }
    context_.restart();
    context_.run_for(time);
  }
  static SlotReport Report(std::optional<Lsn> guard) {
    SlotReport report;
    report.confirmed = Lsn(0x40000480);
    report.server_wal_end = Lsn(0x40000500);
    if (guard) {
      report.guard.emplace();
      report.guard->confirmed = *guard;
    }
    return report;
  }

  std::optional<ReplayWindowService> service_;
  bool is_running_ = false;
};

TEST_F(ReplayWindowServiceTest, TheGuardFollowsAndNeverOvertakes) {
  service_->OnReport(Report(Lsn(0x40000100)), 0);
  Run(std::chrono::milliseconds(300));
  ASSERT_THAT(server_.StatementsWith(kAdvance), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith(kAdvance)[0],
              HasSubstr("40000380'::pg_lsn"));
  EXPECT_THAT(server_.StatementsWith(kCopy), IsEmpty());
}

TEST_F(ReplayWindowServiceTest, AMissingOrLostGuardIsMadeOnce) {
  service_->OnReport(Report(std::nullopt), 0);
  Run(std::chrono::milliseconds(1'200));
  EXPECT_THAT(server_.StatementsWith(kCopy), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith(kAdvance), IsEmpty());
}

TEST_F(ReplayWindowServiceTest, WithoutAWindowItDoesNothing) {
  options_.replay.window_bytes = 0;
  MakeService();
  service_->OnReport(Report(std::nullopt), 0);
  Run(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_running_);
  EXPECT_THAT(server_.StatementsWith(kCopy), IsEmpty());
}

TEST_F(ReplayWindowServiceTest, AnErrorEndsItsSessionAndNothingElse) {
  server_.Drop(kAdvance);
  service_->OnReport(Report(Lsn(0x40000100)), 0);
  Run(std::chrono::milliseconds(300));
  EXPECT_THAT(server_.StatementsWith(kAdvance), SizeIs(1));
  server_.Answer(kAdvance, {});
  service_->OnReport(Report(Lsn(0x40000100)), 0);
  Run(seconds(2));
  EXPECT_THAT(server_.StatementsWith(kAdvance), SizeIs(2));
}

// Nothing before it can be replayed: a new one begins where the slot stands.
TEST_F(ReplayWindowServiceTest, ALostGuardIsMadeAgain) {
  SlotReport report = Report(Lsn(0x40000100));
  report.guard->is_lost = true;
  service_->OnReport(report, 0);
  Run(std::chrono::milliseconds(300));
  EXPECT_THAT(server_.StatementsWith(kCopy), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith(kAdvance), IsEmpty());
}

TEST_F(ReplayWindowServiceTest, AWindowThatDoesNotFitIsSaidOnce) {
  const testing::LogLines log;
  options_.replay.window_bytes = 0x40000000;
  MakeService();
  SlotReport report = Report(Lsn(0x100));
  for (int i = 0; i < 3; ++i) service_->OnReport(report, 0x10000000);
  EXPECT_THAT(log.Warnings(), SizeIs(1));
  service_->OnReport(report, 0);
  service_->OnReport(report, 0x10000000);
  EXPECT_THAT(log.Warnings(), SizeIs(2)) << "it did fit meanwhile";
}

}  // namespace
}  // namespace walpost
