// parked, and dead-letters that are kept in the table: what is listed, chosen
// and decided, and how a running instance is awaited.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verb_fixture.h"
#include "parking/parked_codec.h"
#include "support/parking_answers.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using ::testing::SizeIs;
using ::testing::StartsWith;

using namespace testing::wal_source;  // the words of the statements

constexpr char kList[] = "SELECT number, position, state";
constexpr char kDecide[] = "decided_at = now()";
constexpr char kPayload[] = "SELECT payload";
constexpr char kStates[] = "SELECT state FROM";
const std::optional<std::string> kNull;

std::string Hex(const std::string& bytes) {
  std::string text = "\\x";
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

struct Parked {
  std::string number;
  std::string state;
  std::string id;
  std::string key;
  std::string topic = {};  // isolated; of a letter: the one it is for
  std::string error_class = "record_too_large";
  std::string decided_by = {};
  bool may_be_sent = false;
};

class ParkedVerbsTest : public testing::VerbFixture {
 protected:
  ParkedVerbsTest() {
    testing::AnswerWalSource(server_);
    testing::AnswerEmptyParking(server_);
    server_.Answer(
        kComments,
        {{testing::BirthOfOrders({"public.walpost_parked", 16421})}});
    Set("on_error.record_too_large", "park");
  }

  static FakePostgres::Row RowOf(const Parked& parked) {
    DeadLetter content;
    content.source = "public.outbox";
    content.id = parked.id;
    content.aggregate_id = parked.key;
    content.aggregate_type = "order";
    content.type = "Placed";
    content.headers = "{\"h\": 1}";
    content.commit_time = WallTime(std::chrono::seconds(1600000000));
    content.columns = {{"region", "eu"}};
    const bool is_decided = !parked.decided_by.empty();
    return {parked.number,
            SortableText({Lsn(0x1000 + std::stoul(parked.number)), 3}),
            parked.state,
            parked.error_class,
            "too large: walpost check -c FILE",
            Hex(EncodeParked(content)),
            "5" + parked.number,
            is_decided ? std::optional<std::string>("1600000060000000") : kNull,
            parked.decided_by,
            is_decided ? "paid" : "",
            parked.topic,
            "77",
            "d" + parked.number,
            parked.may_be_sent ? "t" : "f"};
  }
  void SetRows(const std::vector<Parked>& parked) {
    FakePostgres::Rows rows;
    for (const Parked& row : parked) rows.push_back(RowOf(row));
    server_.Answer(kList, rows);
  }
};

TEST_F(ParkedVerbsTest, ListsDeadEventsWithThoseBehindThem) {
  SetRows({{"1", "dead", "i1", "a"},
           {"2", "waiting", "i2", "a"},
           {"3", "waiting", "i3", "a"},
           {"4", "dead", "i4", "b", "", "text_not_utf8", "bob", true},
           {"5", "waiting", "i5", "c", "t.order"},
           {"6", "waiting", "i6", "d", "t.order"},
           {"7", "released", "i7", "e", "", "record_too_large", "bob"}});
  Outcome ended = Run("parked list");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(0/1001/3  dead  id i1  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 51 bytes
    record_too_large: too large: walpost check -c FILE
    2 events wait behind it
0/1004/3  dead  id i4  key b
    committed 2020-09-13 12:26:40Z in public.outbox, 54 bytes
    text_not_utf8: too large: walpost check -c FILE
    decided 2020-09-13 12:27:40Z by bob: paid
    it was being sent then, and the brokers may have it: walpost verify -c FILE shows whether it does
0/1007/3  released  id i7  key e
    committed 2020-09-13 12:26:40Z in public.outbox, 57 bytes
    record_too_large: too large: walpost check -c FILE
    decided 2020-09-13 12:27:40Z by bob: paid
7 parked events: 2 dead, 1 released, 4 waiting
topic t.order is isolated, because it takes no records: 2 events wait for it, and follow when it does
)");
  ended = Run("parked list --json --id i4");
  EXPECT_EQ(
      ended.out,
      R"({"position":"0/1004/3","state":"dead","class":"text_not_utf8","reason":"too large: walpost check -c FILE","source":"public.outbox","id":"i4","key":"b","aggregate_type":"order","type":"Placed","committed_at":"2020-09-13 12:26:40Z","payload_bytes":54,"waiting_behind":0,"decided_by":"bob","decided_at":"2020-09-13 12:27:40Z","why":"paid","sent":"unknown"}
)");
  ended = Run("parked list --all --key a");
  EXPECT_EQ(ended.out, R"(0/1001/3  dead  id i1  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 51 bytes
    record_too_large: too large: walpost check -c FILE
    2 events wait behind it
0/1002/3  waiting  id i2  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 52 bytes
    record_too_large: too large: walpost check -c FILE
0/1003/3  waiting  id i3  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 53 bytes
    record_too_large: too large: walpost check -c FILE
7 parked events: 2 dead, 1 released, 4 waiting
topic t.order is isolated, because it takes no records: 2 events wait for it, and follow when it does
)");
}

TEST_F(ParkedVerbsTest, ShowsWhatMatches) {
  SetRows({{"1", "dead", "i1", "a"}, {"2", "waiting", "i2", "a"}});
  server_.Answer(kPayload, {{Hex("body")}});
  const Outcome ended = Run("parked show --id i1");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(0/1001/3  dead  id i1  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 51 bytes
    record_too_large: too large: walpost check -c FILE
    aggregate_type  order
    type            Placed
    headers         {"h": 1}
    region          eu

body

)");
  const Outcome none = Run("parked show --id i3");
  EXPECT_EQ(none.exit_code, kExitFindings);
  EXPECT_EQ(none.err, "walpost: no parked event matches\n");
}

struct Choice {
  std::string line;
  std::string chosen;  // numbers, as the statement has them
};

TEST_F(ParkedVerbsTest, DecidesAboutWhatIsDead) {
  SetRows({{"1", "dead", "i1", "a"},
           {"2", "waiting", "i2", "a"},
           {"3", "retry", "i3", "b"},
           {"4", "dead", "i4", "c", "", "text_not_utf8"}});
  const std::vector<Choice> cases = {
      {"parked release --all --why paid", "1, 4"},
      {"parked discard --all --why paid", "1, 3, 4"},
      {"parked release --id i4 --why paid", "4"},
      {"parked release --key a --why paid", "1"},
      {"parked release --class text_not_utf8 --why paid", "4"},
      {"parked release --position 0/1001/3 --why paid", "1"},
  };
  for (const Choice& choice : cases) {
    server_.Answer(kDecide, {});
    const Outcome ended = Run(choice.line);
    EXPECT_EQ(ended.exit_code, kExitOk) << choice.line << ended.err;
    const std::string sql = server_.StatementsWith(kDecide).back();
    EXPECT_THAT(sql, HasSubstr(fmt::format("IN ({}) AND", choice.chosen)));
    const bool releases = choice.line.starts_with("parked release");
    EXPECT_THAT(sql, HasSubstr(releases ? "SET state = 'retry'"
                                        : "SET state = 'discarded'"));
    EXPECT_THAT(sql, HasSubstr("decided_by = 'alice', decided_why = 'paid'"));
  }
  for (const char* line : {"parked release --id i2 --why paid",
                           "parked release --id i3 --why paid",
                           "parked discard --id i2 --why paid"}) {
    const Outcome ended = Run(line);
    EXPECT_EQ(ended.exit_code, kExitFindings) << line;
    EXPECT_THAT(ended.err, HasSubstr("no such parked event is dead")) << line;
  }
}

TEST_F(ParkedVerbsTest, ListsLetters) {
  Set("on_error.record_too_large", "dead_letter");
  Set("dead_letter.store", "postgres");
  SetRows({{"1", "dead_letter", "i1", "a", "t.order"},
           {"2", "dead_letter_retry", "i2", "a", "", "record_too_large", "bob"},
           {"3", "dead_letter_discarded", "i3", "b", "", "record_too_large",
            "bob", true}});
  Outcome ended = Run("dead-letters list");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(0/1001/3  record_too_large  id i1  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 51 bytes, for topic t.order
    too large: walpost check -c FILE
0/1002/3  record_too_large  id i2  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 52 bytes
    too large: walpost check -c FILE
    retry 2020-09-13 12:27:40Z by bob: paid
0/1003/3  record_too_large  id i3  key b
    committed 2020-09-13 12:26:40Z in public.outbox, 53 bytes
    too large: walpost check -c FILE
    discarded 2020-09-13 12:27:40Z by bob: paid
    it was being sent then, and the brokers may have it: walpost verify -c FILE shows whether it does
3 dead letters: 1 discarded, 1 record_too_large, 1 retry
)");
  ended = Run("dead-letters list --json");
  EXPECT_EQ(
      ended.out,
      R"({"place":"0/1001/3","class":"record_too_large","reason":"too large: walpost check -c FILE","topic":"t.order","source":"public.outbox","position":"0/1001/3","id":"i1","key":"a","aggregate_type":"order","type":"Placed","committed_at":"2020-09-13 12:26:40Z","payload_bytes":51,"copies":1,"state":"open"}
{"place":"0/1002/3","class":"record_too_large","reason":"too large: walpost check -c FILE","topic":"","source":"public.outbox","position":"0/1002/3","id":"i2","key":"a","aggregate_type":"order","type":"Placed","committed_at":"2020-09-13 12:26:40Z","payload_bytes":52,"copies":1,"state":"retry","decided_by":"bob","decided_at":"2020-09-13 12:27:40Z","why":"paid"}
{"place":"0/1003/3","class":"record_too_large","reason":"too large: walpost check -c FILE","topic":"","source":"public.outbox","position":"0/1003/3","id":"i3","key":"b","aggregate_type":"order","type":"Placed","committed_at":"2020-09-13 12:26:40Z","payload_bytes":53,"copies":1,"state":"discarded","decided_by":"bob","decided_at":"2020-09-13 12:27:40Z","why":"paid","sent":"unknown"}
)");
  server_.Answer(kPayload, {{Hex("body")}});
  ended = Run("dead-letters show --id i1");
  EXPECT_EQ(ended.out, R"(0/1001/3
  class           record_too_large
  reason          too large: walpost check -c FILE
  topic           t.order
  source          public.outbox
  position        0/1001/3
  committed       2020-09-13 12:26:40Z
  id              i1
  key             a
  aggregate_type  order
  type            Placed
  headers         {"h": 1}
  region          eu

body

)");
}

TEST_F(ParkedVerbsTest, SaysHowManyWereDecided) {
  SetRows({{"1", "dead", "i1", "a"}, {"4", "dead", "i4", "c"}});
  server_.Answer(kDecide, {{"1", "t"}, {"4", "f"}});
  Outcome ended = Run("parked discard --all --why paid --by carol");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(2 discarded; what waits behind them follows
1 of them were on their way to the brokers, and may arrive there: walpost parked -c FILE list --all then shows them as sent
)");
  EXPECT_THAT(server_.StatementsWith(kDecide).back(),
              HasSubstr("decided_by = 'carol'"));
  ended = Run("parked release --all --why paid");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(2 to be sent. No walpost answers at http.listen: the next one that has slot orders sends them
)");
}

TEST_F(ParkedVerbsTest, ARunningInstanceIsAwaited) {
  RelayStatus status;
  status.slot = "orders";
  Answer(status);
  SetRows({{"1", "dead", "i1", "a"}, {"4", "dead", "i4", "c"}});
  server_.Answer(kDecide, {{"1", "f"}, {"4", "f"}});
  server_.AnswerInTurn(kStates,
                       {{{"retry"}, {"dead"}}, {{"released"}, {"dead"}}});
  Outcome ended = Run("parked release --all --why paid");
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  EXPECT_EQ(ended.out, R"(1 sent, 1 dead again
0/1001/3: too large: walpost check -c FILE
0/1004/3: too large: walpost check -c FILE
)");
  EXPECT_THAT(server_.StatementsWith(kStates), SizeIs(2));
  server_.Answer(kStates, {{"released"}, {"released"}});
  ended = Run("parked release --all --why paid");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, "2 sent, 0 dead again\n");
}

TEST_F(ParkedVerbsTest, AnErrorOfPostgresIsItsExitCode) {
  SetRows({{"1", "dead", "i1", "a"}});
  server_.Fail(kDecide, "57014", "canceled");
  EXPECT_EQ(Run("parked release --all --why paid").exit_code, kExitPostgres);
  server_.Fail(kList, "57014", "canceled");
  EXPECT_EQ(Run("parked list").exit_code, kExitPostgres);
}

class LetterVerbsTest : public ParkedVerbsTest {
 protected:
  LetterVerbsTest() {
    Set("on_error.record_too_large", "dead_letter");
    Set("dead_letter.store", "postgres");
    SetRows({{"1", "dead_letter", "i1", "a", "t.order"},
             {"2", "dead_letter_retry", "i2", "b"},
             {"3", "dead_letter", "i3", "c", "", "text_not_utf8"}});
    server_.Answer(kPayload, {{Hex("body")}});
    server_.Answer(kDecide, {{"1", "f"}});
  }
};

TEST_F(LetterVerbsTest, DecidesAboutWhatMatches) {
  const std::vector<Choice> cases = {
      {"dead-letters discard --all --why paid", "1, 2, 3"},
      {"dead-letters discard --id i3 --why paid", "3"},
      {"dead-letters discard --key b --why paid", "2"},
      {"dead-letters discard --class text_not_utf8 --why paid", "3"},
      {"dead-letters discard --topic t.order --why paid", "1"},
      {"dead-letters discard --place 0/1002/3 --why paid", "2"},
      {"dead-letters discard --since 2020-09-13 --why paid", "1, 2, 3"},
      {"dead-letters discard --before 2020-09-14 --why paid", "1, 2, 3"},
      {"dead-letters retry --id i1 --out-of-order --why paid", "1"},
  };
  for (const Choice& choice : cases) {
    const Outcome ended = Run(choice.line);
    EXPECT_EQ(ended.exit_code, kExitOk) << choice.line << ended.err;
    const std::string sql = server_.StatementsWith(kDecide).back();
    EXPECT_THAT(sql, HasSubstr(fmt::format("IN ({}) AND", choice.chosen)))
        << choice.line;
    const bool retries = choice.line.starts_with("dead-letters retry");
    EXPECT_THAT(sql,
                HasSubstr(retries ? "'dead_letter_retry', decided_at"
                                  : "'dead_letter_discarded', decided_at"));
  }
  for (const char* line : {"dead-letters discard --id i9 --why paid",
                           "dead-letters discard --since 2020-09-14 --why paid",
                           "dead-letters discard --before 2020-09-13 --why x",
                           "dead-letters show --id i9"}) {
    const Outcome ended = Run(line);
    EXPECT_EQ(ended.exit_code, kExitFindings) << line;
    EXPECT_EQ(ended.err, "walpost: no such dead letter is open\n");
  }
}

TEST_F(LetterVerbsTest, SaysWhatWasDone) {
  Outcome ended = Run("dead-letters discard --all --why paid");
  EXPECT_EQ(ended.out, R"(2 were decided about by another command
1 discarded
)");
  ended = Run("dead-letters discard --all --why paid --dry-run");
  EXPECT_EQ(ended.out, "3 would be discarded\n");
  EXPECT_THAT(server_.StatementsWith(kDecide), SizeIs(1));
  ended = Run("dead-letters retry --all --out-of-order --why paid");
  EXPECT_EQ(
      ended.out,
      R"(1 to be sent. No walpost answers at http.listen: the next one that has slot orders sends them
0/1003/3 stays as it is: the row could not be read (text_not_utf8), and the dead letter has no more than could be: repair the row, and send it with walpost replay -c FILE --from-table --ids FILE; then discard the dead letter
)");
  ended = Run("dead-letters list --from other");
  EXPECT_EQ(ended.exit_code, kExitUsage);
  EXPECT_THAT(ended.err, HasSubstr("--from names a topic"));
}

TEST_F(LetterVerbsTest, ALetterThatCannotBeBuiltStaysAsItIs) {
  const Outcome ended =
      Run("dead-letters retry --all --out-of-order --why paid --dry-run");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, StartsWith("1 would be retried\n0/1003/3 stays as it "
                                    "is: the row could not be read"));
}

TEST_F(LetterVerbsTest, ARunningInstanceIsAwaited) {
  RelayStatus status;
  status.slot = "orders";
  Answer(status);
  const auto first = RowOf({"1", "dead_letter", "i1", "a"});
  const auto second = RowOf({"2", "dead_letter", "i2", "b"});
  server_.AnswerInTurn(kList, {{first, second}, {second}});
  server_.Answer(kDecide, {{"1", "f"}, {"2", "f"}});
  server_.AnswerInTurn(kStates, {{{"dead_letter_retry"}, {"dead_letter_retry"}},
                                 {{"dead_letter_retry"}, {"dead_letter"}},
                                 {{"dead_letter_retried"}, {"dead_letter"}}});
  Outcome ended = Run("dead-letters retry --all --out-of-order --why x");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_EQ(ended.out,
            "1 retried\n0/1002/3 stays as it is: too large: walpost check -c "
            "FILE\n");
  EXPECT_THAT(server_.StatementsWith(kStates), SizeIs(3));
  server_.AnswerInTurn(kList, {{first, second}, {}});
  ended = Run("dead-letters retry --all --out-of-order --why x");
  EXPECT_EQ(ended.exit_code, kExitOk);
  EXPECT_EQ(ended.out, "2 retried\n");
}

TEST_F(ParkedVerbsTest, P9AMissingTableIsAcceptedByAnOperator) {
  Outcome ended = Run("parked accept --why restored");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("there is nothing to accept"));
  server_.Answer(testing::parking::kDescribe,
                 testing::ParkingTableIsThere("5"));
  server_.Answer("SELECT (SELECT c.oid", {{"5"}});
  ended = Run("parked accept --why restored");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(accepted by alice: slot orders goes on with table public.walpost_parked (restored). walpost verify -c FILE names the rows that are neither published nor on record
)");
  EXPECT_EQ(
      FindBirthRecord(
          testing::CommentOf(server_.StatementsWith(kComment).back()), "orders")
          ->parked_table,
      (ParkedTable{"public.walpost_parked", 5}));
  server_.Answer(testing::parking::kDescribe, testing::ParkingTableIsMissing());
  ended = Run("parked accept --why restored --by carol");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(accepted by carol: slot orders goes on with table public.walpost_parked (restored). walpost verify -c FILE names the rows that are neither published nor on record
)");
  EXPECT_THAT(server_.StatementsWith("create table"), Not(IsEmpty()));
  Set("on_error.record_too_large", "");
  ended = Run("parked accept --why restored");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(accepted by alice: slot orders goes on without table public.walpost_parked (restored). walpost verify -c FILE names the rows that are neither published nor on record
)");
  server_.Fail(kComment, "42501", "must be owner");
  ended = Run("parked accept --why restored");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("role relay does not own publication"));
}

}  // namespace
}  // namespace walpost
