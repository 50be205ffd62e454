// pause, resume, skip, dead-letter: what is put on record, what the instance
// that runs has to say, and how each of them ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason_code.h"
#include "checkpoint/event_decision.h"
#include "checkpoint/pause_record.h"
#include "cli/verb_fixture.h"
#include "outbox/numbering.h"
#include "support/message_bytes.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using testing::CommentOf;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;
using ::testing::SizeIs;

using namespace testing::wal_source;  // the words of the statements

constexpr char kNow[] = "SELECT floor(extract(epoch FROM clock_timestamp";
constexpr char kTableComment[] = "COMMENT ON TABLE";

std::string Hex(const std::string& bytes) {
  std::string text = "\\x";
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class DecisionVerbsTest : public testing::VerbFixture {
 protected:
  DecisionVerbsTest() {
    testing::AnswerWalSource(server_);
    server_.Answer(kNow, {{"1700000000"}});
    status_.slot = "orders";
    status_.state = RelayState::kStreaming;
  }

  static PauseRecord Paused(bool is_paused = true) {
    return {is_paused, "bob", WallTime(std::chrono::seconds(1600000000)),
            "upgrade"};
  }
  void SetRecord(const PauseRecord& record) {
    server_.Answer(kComments, {{WithPause(testing::BirthOfOrders(),
                                          PauseSubject("orders"), record)}});
  }
  std::string Written(const char* words = kComment) const {
    const auto written = server_.StatementsWith(words);
    return written.empty() ? "" : CommentOf(written.back());
  }

  RelayStatus status_;
};

TEST_F(DecisionVerbsTest, APauseIsPutOnRecord) {
  const Outcome ended = Run("pause --reason upgrade");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out,
            "on record: slot orders paused. No walpost that sends these events "
            "answers at http.listen: the instance that sends them obeys within "
            "seconds\n");
  EXPECT_THAT(Written(), HasSubstr("walpost: slot orders paused by=alice "
                                   "at=2023-11-14T22:13:20Z why=upgrade"));
  const Outcome named = Run("pause --by carol");
  EXPECT_EQ(named.exit_code, kExitOk) << named.err;
  EXPECT_THAT(Written(), HasSubstr("paused by=carol at="));
  setenv("USER", "", 1);
  EXPECT_EQ(Run("pause").exit_code, kExitOk);
  EXPECT_THAT(Written(), HasSubstr("paused by=somebody at="));
}

TEST_F(DecisionVerbsTest, WhatIsSoAlreadyIsNotWritten) {
  SetRecord(Paused());
  Outcome ended = Run("pause");
  EXPECT_EQ(ended.exit_code, kExitOk);
  EXPECT_EQ(ended.out,
            "slot orders: already paused by bob since "
            "2020-09-13T12:26:40Z: upgrade\n");
  SetRecord(Paused(false));
  ended = Run("resume");
  EXPECT_EQ(ended.exit_code, kExitOk);
  EXPECT_EQ(ended.out, "slot orders: not paused\n");
  EXPECT_THAT(Written(), IsEmpty());
}

TEST_F(DecisionVerbsTest, AResumedSlotGoesOn) {
  SetRecord(Paused());
  Outcome ended = Run("resume");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("on record: slot orders resumed. No"));
  EXPECT_THAT(Written(), HasSubstr("walpost: slot orders resumed by=alice"));
  SetRecord(Paused(false));
  ended = Run("pause");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("on record: slot orders paused. No"));
}

TEST_F(DecisionVerbsTest, TheInstanceThatRunsIsAwaited) {
  Answer(status_);
  server_.AnswerAfter(kComment, {}, [this] {
    status_.pause = Paused();
    Answer(status_);
  });
  Outcome ended = Run("pause");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out,
            "slot orders: paused. Nothing is sent until walpost resume -c "
            "FILE; meanwhile Postgres keeps the WAL for the slot\n");
  SetRecord(Paused());
  server_.AnswerAfter(kComment, {}, [this] {
    status_.pause.reset();
    Answer(status_);
  });
  ended = Run("resume");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out,
            "slot orders: resumed, after a pause by bob since "
            "2020-09-13T12:26:40Z: upgrade\n");
}

// Its record has vanished, and it holds on to it.
TEST_F(DecisionVerbsTest, AnInstanceThatIsPausedIsResumedWithoutARecord) {
  status_.pause = Paused();
  Answer(status_);
  server_.AnswerAfter(kComment, {}, [this] {
    status_.pause.reset();
    Answer(status_);
  });
  const Outcome ended = Run("resume");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, "slot orders: resumed\n");
  EXPECT_THAT(Written(), HasSubstr("slot orders resumed by=alice"));
}

TEST_F(DecisionVerbsTest, AnotherInstanceIsNotAwaited) {
  status_.slot = "other";
  status_.pause = Paused();
  Answer(status_);
  EXPECT_THAT(Run("pause").out, HasSubstr("No walpost that sends these"));
  EXPECT_EQ(Run("resume").out, "slot orders: not paused\n");
  status_.slot = "orders";
  status_.state = RelayState::kStandby;
  status_.pause.reset();
  Answer(status_);
  EXPECT_THAT(Run("pause").out, HasSubstr("No walpost that sends these"));
}

TEST_F(DecisionVerbsTest, AnErrorOfPostgresIsItsExitCode) {
  server_.Fail(kComment, "42501", "must be owner");
  const Outcome ended = Run("pause");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err,
              HasSubstr("the pause is not on record, because the role of "
                        "walpost does not own publication outbox"));
  EXPECT_THAT(ended.out, IsEmpty());
}

TEST_F(DecisionVerbsTest, APollerIsPausedByTheCommentsOfItsTables) {
  Set("source", "polling");
  Set("polling.strategy", "delete");
  Set("postgres.slot", "");
  Set("postgres.publication", "");
  SetTables("    - name: app.one\n    - name: app.two\n");
  const std::string paused = WithPause("", kPollingPauseSubject, Paused());
  server_.Answer(kComments, {{"mine"}});
  Outcome ended = Run("pause --reason upgrade");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out,
              HasSubstr("on record: tables app.one, app.two paused. No"));
  EXPECT_THAT(server_.StatementsWith(kTableComment), SizeIs(2));
  EXPECT_THAT(
      Written(kTableComment),
      AllOf(HasSubstr("mine"), HasSubstr("walpost: polling paused by=alice")));
  // One of the two is: they are not all so.
  server_.AnswerInTurn(kComments, {{{paused}}, {{""}}});
  EXPECT_THAT(Run("pause").out, HasSubstr("on record: tables"));
  server_.AnswerInTurn(kComments, {{{""}}, {{paused}}});
  EXPECT_THAT(Run("resume").out, HasSubstr("two resumed."));
  server_.Answer(kComments, {{paused}});
  EXPECT_THAT(Run("pause").out,
              HasSubstr("tables app.one, app.two: already paused by bob"));
  // A poller says that it polls; whose slot it names does not matter.
  status_.polled_tables.resize(1);
  status_.slot.clear();
  status_.pause = Paused();
  Answer(status_);
  server_.AnswerAfter(kTableComment, {}, [this] {
    status_.pause.reset();
    Answer(status_);
  });
  EXPECT_THAT(Run("resume").out,
              HasSubstr("tables app.one, app.two: resumed, after a pause by"));
  SetTables("    - name: app.one\n");
  server_.Answer(kComments, {{""}});
  server_.AnswerAfter(kTableComment, {}, [this] {
    status_.pause = Paused();
    Answer(status_);
  });
  EXPECT_THAT(Run("pause").out,
              HasSubstr("table app.one: paused. Nothing is sent until walpost "
                        "resume -c FILE; meanwhile rows stay in the table"));
}

class SkipTest : public DecisionVerbsTest {
 protected:
  SkipTest() {
    SetTables("    []\n");
    Set("outbox.messages", "{prefix: outbox}");
    status_.numbering = 4711;
    status_.stoppage.emplace();
    status_.stoppage->position = {Lsn(0x400), 1};
    status_.stoppage->digest = "d1";
    status_.stoppage->event_id = "i1";
    status_.stoppage->reason = WithReasonCode(
        absl::InvalidArgumentError("too large"), kReasonRecordTooLarge);
  }

  // The slot has a transaction at 0/400 with two messages.
  void AnswerPeek() {
    FakePostgres::Rows rows = {{Hex(testing::BeginMessage(Lsn(0x400)))}};
    for (const char* id : {"first", "second"}) {
      const std::string content = fmt::format(
          R"({{"id": "{}", "aggregate_type": "order", "aggregate_id": "k", )"
          R"("payload": "v"}})",
          id);
      testing::ByteWriter message;
      message.Char('M').Uint8(1).Uint64(0x3f0).CString("outbox");
      message.Uint32(static_cast<uint32_t>(content.size())).Raw(content);
      rows.push_back({Hex(message.bytes())});
    }
    rows.push_back({Hex(testing::CommitMessage(Lsn(0x400), Lsn(0x410)))});
    server_.Answer(kPeek, rows);
  }
};

TEST_F(SkipTest, P8TheSlotSaysWhichEventItIsIfNobodyRuns) {
  AnswerPeek();
  const Outcome ended = Run("skip 0/400/2 --why paid");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out,
            "on record: skip the event at 0/400/2 (id second). No walpost that "
            "has slot orders answers at http.listen: the next instance "
            "with the slot obeys\n");
  const std::string written = Written();
  EXPECT_THAT(written, HasSubstr("0/400/2"));
  EXPECT_THAT(written, HasSubstr("by=alice"));
  EXPECT_THAT(written, HasSubstr("why=paid"));
  EXPECT_THAT(server_.StatementsWith(kPeek).back(),
              HasSubstr("'orders', '0/401'::pg_lsn"));
  const Outcome letter = Run("dead-letter 0/400/1 --why paid --by carol");
  EXPECT_EQ(letter.exit_code, kExitOk) << letter.err;
  EXPECT_THAT(letter.out, HasSubstr("(id first)"));
  EXPECT_THAT(letter.out, HasSubstr("obeys, if it stops there\n"));
  EXPECT_THAT(Written(), HasSubstr("by=carol"));
}

TEST_F(SkipTest, P8AnEventThatTheSlotDoesNotHaveIsNotFound) {
  AnswerPeek();
  for (const char* position : {"0/400/3", "0/3F0/1", "0/500/1"}) {
    const Outcome ended = Run(fmt::format("skip {} --why paid", position));
    EXPECT_EQ(ended.exit_code, kExitFindings) << position;
    EXPECT_THAT(ended.err, HasSubstr("the WAL has no event at")) << position;
  }
  EXPECT_THAT(Written(), IsEmpty());
}

TEST_F(SkipTest, P8TheSlotMustNotBeBehindTheEvent) {
  AnswerPeek();
  server_.Answer(kSlot, testing::SlotAt("0/401"));
  Outcome ended = Run("skip 0/400/1 --why paid");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("slot orders is confirmed up to 0/401: the "
                                   "event at 0/400/1 was dealt with"));
  server_.Answer(kSlot, testing::SlotAt("0/400"));
  EXPECT_EQ(Run("skip 0/400/1 --why paid").exit_code, kExitOk);
  server_.Answer(kSlot, {});
  ended = Run("skip 0/400/1 --why paid");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("slot orders does not exist"));
  server_.Answer(kSlot, testing::SlotAt("0/200"));
  server_.Fail(kPeek, "55006", "slot is active for PID 7");
  ended = Run("skip 0/400/1 --why paid");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("slot orders is in use, and no walpost that "
                                   "streams from it answers"));
}

TEST_F(SkipTest, P8TheInstanceNamesTheEventThatItHasStoppedBefore) {
  Answer(status_);
  server_.AnswerAfter(kComment, {}, [this] {
    status_.stoppage.reset();
    Answer(status_);
  });
  const Outcome ended = Run("skip 0/400/1 --why paid");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out,
            "skip: the event at 0/400/1 (id i1); the flow goes on\n");
  EXPECT_THAT(server_.StatementsWith(kPeek), IsEmpty());
  const std::vector<EventDecision> found = FindDecisions(Written(), "orders");
  ASSERT_THAT(found, SizeIs(1)) << Written();
  EXPECT_EQ(found[0].action, ErrorAction::kSkip);
  EXPECT_EQ(found[0].position, (Position{Lsn(0x400), 1}));
  EXPECT_EQ(found[0].numbering, 4711u);
  EXPECT_EQ(found[0].digest, "d1");
  EXPECT_EQ(found[0].system_identifier, "77");
  EXPECT_EQ(found[0].timeline, 3u);
  EXPECT_EQ(found[0].by, "alice");
  EXPECT_EQ(found[0].why, "paid");
  EXPECT_FALSE(found[0].was_obeyed);
}

TEST_F(SkipTest, P8ADecisionIsForTheEventThatTheFlowHasStoppedBefore) {
  Answer(status_);
  Outcome ended = Run("skip 0/400/2 --why paid");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.err, HasSubstr("the flow has stopped before the event at "
                                   "0/400/1, not before that at 0/400/2"));
  status_.stoppage->reason = WithReasonCode(
      absl::InvalidArgumentError("no column"), kReasonTableUnsuitable);
  Answer(status_);
  ended = Run("dead-letter 0/400/1 --why paid");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.err, HasSubstr("its dead letter would be empty: walpost "
                                   "skip -c FILE 0/400/1"));
  status_.stoppage.reset();
  Answer(status_);
  ended = Run("skip 0/400/1 --why paid");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.err, HasSubstr("there is nothing to decide"));
  EXPECT_THAT(Written(), IsEmpty());
}

// Neither a standby nor the instance of another slot knows where the flow
// stands.
TEST_F(SkipTest, P8AnotherInstanceSaysNothingOfTheFlow) {
  AnswerPeek();
  status_.state = RelayState::kStandby;
  status_.stoppage.reset();
  Answer(status_);
  EXPECT_EQ(Run("skip 0/400/1 --why paid").exit_code, kExitOk);
  status_.state = RelayState::kStuck;
  status_.slot = "other";
  Answer(status_);
  EXPECT_EQ(Run("skip 0/400/1 --why paid").exit_code, kExitOk);
}

// Each of them keeps the decision from another event at that position.
TEST_F(SkipTest, P8ADecisionHasAllThatNamesItsEvent) {
  AnswerPeek();
  ASSERT_EQ(Run("dead-letter 0/400/2 --why paid").exit_code, kExitOk);
  const auto decisions = FindDecisions(Written(), "orders");
  ASSERT_THAT(decisions, SizeIs(1));
  const EventDecision& decision = decisions[0];
  EXPECT_EQ(decision.action, ErrorAction::kDeadLetter);
  EXPECT_EQ(decision.position, (Position{Lsn(0x400), 2}));
  EXPECT_EQ(decision.system_identifier, "77");
  EXPECT_EQ(decision.timeline, 3u);
  EXPECT_NE(decision.numbering, 0u);
  EXPECT_NE(decision.digest, "");
  EXPECT_EQ(decision.at, WallTime(std::chrono::seconds(1'700'000'000)));
  EXPECT_EQ(decision.by, "alice");
  EXPECT_EQ(decision.why, "paid");
  EXPECT_FALSE(decision.was_obeyed);
  ASSERT_EQ(Run("skip 0/400/1 --why paid").exit_code, kExitOk);
  const auto other = FindDecisions(Written(), "orders");
  ASSERT_THAT(other, SizeIs(1));
  EXPECT_EQ(other[0].numbering, decision.numbering);
  EXPECT_NE(other[0].digest, decision.digest);
}

}  // namespace
}  // namespace walpost
