// What operators decided stays on record, in the comment of a publication.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "base/sqlstate.h"
#include "fmt/format.h"
#include "postgres/slot/decision_record.h"
#include "postgres/slot/pause_record.h"
#include "support/fake_postgres.h"

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

constexpr char kComments[] = "obj_description";
constexpr char kComment[] = "COMMENT ON";
constexpr char kClock[] = "clock_timestamp()";
constexpr char kPrivilege[] = "42501";

class OperatorRecordsTest : public ::testing::Test {
 protected:
  OperatorRecordsTest() {
    server_.Answer("pg_advisory_lock", {{""}});
    server_.Answer("pg_advisory_unlock", {{"t"}});
    server_.Answer(kComments, {{"kept by hand"}});
    server_.Answer(kClock, {{"5000"}});
    server_.Answer(kComment, {});
  }

  static EventDecision Decision(uint64_t ordinal,
                                const std::string& slot = "orders") {
    EventDecision decision;
    decision.slot = slot;
    decision.position = {Lsn(0x300), ordinal};
    decision.system_identifier = "77";
    decision.timeline = 1;
    decision.numbering = 5;
    decision.digest = fmt::format("i{:024x}", ordinal);
    decision.by = "alice";
    decision.why = "paid";
    return decision;
  }
  static PauseRecord Pause(bool is_paused, int64_t at = 0) {
    return {is_paused, "alice", WallTime(seconds(at)), "upgrade"};
  }

  absl::Status WriteDecisionOf(const EventDecision& decision) {
    return Await(context_, WriteDecision(*connection_, "outbox", decision));
  }
  absl::Status WritePauseOf(const PauseRecord& record) {
    return Await(context_,
                 WritePause(*connection_, "outbox", "orders", record));
  }
  std::string Written() { return server_.StatementsWith(kComment).back(); }
  std::string Comment() { return testing::CommentOf(Written()); }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
};

TEST_F(OperatorRecordsTest, P8DecisionsUnderEarlierPublicationsCount) {
  const std::string first = WithDecision("", Decision(1));
  const std::string other = WithDecision("", Decision(2, "other"));
  const std::string second = WithDecision(other, Decision(3));
  server_.Answer(kComments, {{first}, {second}, {std::nullopt}});
  const auto decisions =
      Await(context_, ReadDecisions(*connection_, "outbox", "orders"));
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  EXPECT_THAT(*decisions, ElementsAre(Decision(1), Decision(3)));
  server_.Fail(kComments, "57014", "canceled");
  EXPECT_FALSE(
      Await(context_, ReadDecisions(*connection_, "outbox", "orders")).ok());
}

TEST_F(OperatorRecordsTest, P8ADecisionLeavesTheRestOfTheComment) {
  server_.Answer(kComments, {{WithDecision("kept by hand", Decision(1))}});
  ASSERT_TRUE(WriteDecisionOf(Decision(2)).ok());
  EXPECT_THAT(Written(), HasSubstr("COMMENT ON PUBLICATION \"outbox\""));
  EXPECT_THAT(Written(), HasSubstr("kept by hand"));
  EXPECT_THAT(FindDecisions(Comment(), "orders"), SizeIs(2));
}

TEST_F(OperatorRecordsTest, WithoutTheRightTheOwnerGetsTheSql) {
  server_.Fail(kComment, kPrivilege, "must be owner");
  const absl::Status decision = WriteDecisionOf(Decision(2));
  EXPECT_TRUE(absl::IsFailedPrecondition(decision)) << decision;
  EXPECT_THAT(std::string(decision.message()),
              HasSubstr("COMMENT ON PUBLICATION \"outbox\" IS 'kept by hand"));
  EXPECT_THAT(std::string(decision.message()), HasSubstr("skip 0/300/2"));
  const absl::Status pause = WritePauseOf(Pause(false));
  EXPECT_TRUE(absl::IsFailedPrecondition(pause)) << pause;
  EXPECT_THAT(std::string(pause.message()),
              HasSubstr("the resume is not on record"));
  EXPECT_THAT(std::string(pause.message()), HasSubstr("resumed by=alice"));
}

TEST_F(OperatorRecordsTest, OtherErrorsStayWhatTheyAre) {
  server_.Fail(kComment, "57014", "canceled");
  EXPECT_EQ(SqlstateOf(WriteDecisionOf(Decision(2))), "57014");
  EXPECT_EQ(SqlstateOf(WritePauseOf(Pause(true))), "57014");
  server_.Fail(kComment, "42704", "does not exist");
  const absl::Status pause = WritePauseOf(Pause(true));
  EXPECT_TRUE(absl::IsFailedPrecondition(pause)) << pause;
  EXPECT_THAT(std::string(pause.message()),
              HasSubstr("the pause is not on record, because publication "
                        "outbox does not exist"));
}

// The lock is released also when nothing was written.
TEST_F(OperatorRecordsTest, TheNumberOfDecisionsIsLimited) {
  std::string comment;
  for (uint64_t i = 1; i <= kMaxDecisions; ++i) {
    comment += (i > 1 ? "\n" : "") + WithDecision("", Decision(i));
  }
  server_.Answer(kComments, {{comment}});
  EXPECT_TRUE(WriteDecisionOf(Decision(1)).ok()) << "it replaces one";
  const size_t written = server_.StatementsWith(kComment).size();
  const absl::Status status = WriteDecisionOf(Decision(kMaxDecisions + 1));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(server_.StatementsWith(kComment), SizeIs(written));
  EXPECT_THAT(server_.StatementsWith("pg_advisory_unlock"), SizeIs(2));
}

TEST_F(OperatorRecordsTest, TheNewestPauseOfAllPublicationsCounts) {
  server_.Answer(kComments,
                 {{WithPause("", PauseSubject("orders"), Pause(true, 50))},
                  {WithPause("", PauseSubject("orders"), Pause(false, 60))},
                  {WithPause("", PauseSubject("other"), Pause(true, 70))}});
  const auto pause =
      Await(context_, ReadPause(*connection_, "outbox", "orders"));
  ASSERT_TRUE(pause.ok()) << pause.status();
  EXPECT_EQ(*pause, Pause(false, 60));
}

// The clock of the server may be set back.
TEST_F(OperatorRecordsTest, APauseIsLaterThanTheRecordBefore) {
  const std::string subject = PauseSubject("orders");
  ASSERT_TRUE(WritePauseOf(Pause(true)).ok());
  EXPECT_EQ(FindPause({Comment()}, subject)->at, WallTime(seconds(5000)));
  server_.Answer(kComments, {{WithPause("", subject, Pause(true, 9000))}});
  ASSERT_TRUE(WritePauseOf(Pause(false)).ok());
  EXPECT_EQ(FindPause({Comment()}, subject)->at, WallTime(seconds(9001)));
  EXPECT_FALSE(FindPause({Comment()}, subject)->is_paused);
  server_.Answer(kComments, {{WithPause("", subject, Pause(true, 4000))}});
  ASSERT_TRUE(WritePauseOf(Pause(false)).ok());
  EXPECT_EQ(FindPause({Comment()}, subject)->at, WallTime(seconds(5000)));
}

TEST_F(OperatorRecordsTest, AnErrorBeforeThePauseIsWrittenIsReported) {
  for (const char* words : {kComments, kClock, "pg_advisory_lock"}) {
    server_.Fail(words, "57014", "canceled");
    EXPECT_FALSE(WritePauseOf(Pause(true)).ok()) << words;
    server_.Answer(words, {{"5000"}});
  }
  EXPECT_THAT(server_.StatementsWith(kComment), IsEmpty());
  server_.Fail("pg_advisory_unlock", "57014", "canceled");
  EXPECT_FALSE(WritePauseOf(Pause(true)).ok()) << "others wait for the lock";
}

TEST_F(OperatorRecordsTest, APolledTableHasItsPauseInItsOwnComment) {
  const std::string comment =
      WithPause("kept", kPollingPauseSubject, Pause(true, 50));
  server_.Answer(kComments, {{comment}});
  const auto pause = Await(context_, ReadTablePause(*connection_, "app.a"));
  ASSERT_TRUE(pause.ok()) << pause.status();
  EXPECT_EQ(*pause, Pause(true, 50));
  ASSERT_TRUE(Await(context_, WriteTablePauses(*connection_, {"app.a", "app.b"},
                                               Pause(false)))
                  .ok());
  const auto written = server_.StatementsWith(kComment);
  ASSERT_THAT(written, SizeIs(2));
  EXPECT_THAT(written[0], HasSubstr("ON TABLE \"app\".\"a\" IS 'kept"));
  EXPECT_THAT(written[1], HasSubstr("ON TABLE \"app\".\"b\""));
  EXPECT_FALSE(FindTablePause(Comment())->is_paused);
}

TEST_F(OperatorRecordsTest, OneTableOfAnotherOwnerKeepsNoOtherFromBeingPaused) {
  server_.Fail("COMMENT ON TABLE \"app\".\"a\"", kPrivilege, "must be owner");
  const absl::Status status = Await(
      context_,
      WriteTablePauses(*connection_, {"app.a", "app.b", "app.c"}, Pause(true)));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(server_.StatementsWith(kComment), SizeIs(3));
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr("does not own app.a; as the owner run: COMMENT "
                              "ON TABLE \"app\".\"a\""));
  EXPECT_THAT(text, Not(HasSubstr("\"b\"")));
  server_.Fail("COMMENT ON TABLE \"app\".\"b\"", "57014", "canceled");
  EXPECT_EQ(SqlstateOf(Await(context_,
                             WriteTablePauses(*connection_, {"app.b", "app.c"},
                                              Pause(true)))),
            "57014");
}

}  // namespace
}  // namespace walpost
