// What an operator sees and decides of parked events.
#include "postgres/parking/parked_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>

#include "base/reason_code.h"
#include "checkpoint/birth_record.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "postgres/parking/parking_check.h"
#include "support/each_statement.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Parts of the statements.
constexpr char kComments[] = "obj_description";
constexpr char kRights[] = "pg_has_role(pubowner";
constexpr char kDescribe[] = "LEFT JOIN pg_catalog.pg_class";
constexpr char kList[] = "SELECT number, position, state";
constexpr char kDecide[] = "decided_at = now()";

constexpr char kTable[] = "public.walpost_parked";
const std::optional<std::string> kNull;

std::string Hex(const std::string& bytes) {
  std::string text = "\\x";
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string Comment(ParkedTable table) {
  BirthRecord record;
  record.slot = "orders";
  record.system_identifier = "77";
  record.consistent_point = Lsn(0x100);
  record.parked_table = std::move(table);
  return WithBirthRecord("", record);
}

class ParkedListTest : public ::testing::Test {
 protected:
  ParkedListTest() {
    postgres_.slot = "orders";
    postgres_.publication = "outbox";
    server_.Answer(kComments, {{Comment({kTable, 16421})}});
    server_.Answer(kRights, {{"relay", "t"}});
    server_.Answer(kDescribe, Described());
  }

  // oid, is a table, is durable, missing rights, hides rows, is current, is
  // owner, may create, has events.
  static FakePostgres::Rows Described(const std::string& oid = "16421") {
    return {{oid, "t", "t", "", "f", "t", "t", "t", "t"}};
  }
  static FakePostgres::Rows NoTable() {
    return {{kNull, kNull, kNull, "", kNull, "f", kNull, "t", "f"}};
  }

  absl::StatusOr<ParkedList> Open(
      ParkedList::IfUnknown if_unknown = ParkedList::IfUnknown::kRefuse) {
    return Await(context_,
                 ParkedList::Open(*connection_, postgres_, kTable, if_unknown));
  }

  Findings Check(bool is_wanted) {
    const auto found = Await(
        context_, CheckParking(*connection_, postgres_, kTable, is_wanted));
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }

  static FakePostgres::Row Entry(const std::string& state) {
    DeadLetter content;
    content.source = "public.outbox";
    content.aggregate_id = "key";
    return {"7",   "p",  state, "class", "reason", Hex(EncodeParked(content)),
            "512", "90", "bob", "paid",  "orders", "77",
            "i1",  "t"};
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  WalSourceOptions postgres_;
};

TEST_F(ParkedListTest, EachColumnIsInItsField) {
  server_.Answer(kList, {Entry("discarded")});
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  const auto entries =
      Await(context_, list->Read(ParkingSql::Settled::kIncluded));
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_THAT(*entries, SizeIs(1));
  const ParkedEntry& entry = entries->front();
  EXPECT_EQ(entry.number, 7u);
  EXPECT_EQ(entry.position, "p");
  EXPECT_EQ(entry.state, ParkedState::kDiscarded);
  EXPECT_EQ(entry.content.error_class, "class");
  EXPECT_EQ(entry.content.reason, "reason");
  EXPECT_EQ(entry.content.source, "public.outbox");
  EXPECT_EQ(entry.content.aggregate_id, "key");
  EXPECT_EQ(entry.payload_bytes, 512u);
  EXPECT_EQ(entry.decided_at, WallTime(std::chrono::microseconds(90)));
  EXPECT_EQ(entry.decided_by, "bob");
  EXPECT_EQ(entry.decided_why, "paid");
  EXPECT_EQ(entry.isolated_topic, "orders");
  EXPECT_EQ(entry.content.topic, "");
  EXPECT_EQ(entry.system_identifier, "77");
  EXPECT_EQ(entry.digest, "i1");
  EXPECT_TRUE(entry.may_be_sent);
}

TEST_F(ParkedListTest, TheTopicOfADeadLetterIsTheOneItIsFor) {
  FakePostgres::Row undecided = Entry("dead_letter_retry");
  undecided[7] = kNull;
  undecided[13] = "f";
  server_.Answer(kList, {undecided});
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  const auto letters =
      Await(context_, list->ReadLetters(ParkingSql::Settled::kLeftOut));
  ASSERT_TRUE(letters.ok()) << letters.status();
  EXPECT_EQ(letters->front().content.topic, "orders");
  EXPECT_EQ(letters->front().isolated_topic, "");
  EXPECT_EQ(letters->front().decided_at, std::nullopt);
  EXPECT_FALSE(letters->front().may_be_sent);
}

TEST_F(ParkedListTest, P8ARowThatCannotBeReadIsNamed) {
  server_.Answer(kList, {Entry("dead"), Entry("gone")});
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  const auto entries =
      Await(context_, list->Read(ParkingSql::Settled::kLeftOut));
  EXPECT_TRUE(absl::IsDataLoss(entries.status())) << entries.status();
  EXPECT_THAT(std::string(entries.status().message()), HasSubstr("position p"));
}

TEST_F(ParkedListTest, P9AMissingTableThatTheSlotHasUsedIsNoEmptyList) {
  server_.Answer(kDescribe, NoTable());
  const auto list = Open(ParkedList::IfUnknown::kEmpty);
  EXPECT_EQ(ReasonCodeOf(list.status()), kReasonParkedTableMissing);
}

TEST_F(ParkedListTest, P9WithoutARecordAMissingTableIsRefusedUnlessAskedFor) {
  server_.Answer(kComments, {{""}});
  server_.Answer(kDescribe, NoTable());
  EXPECT_TRUE(absl::IsFailedPrecondition(Open().status()));
  auto list = Open(ParkedList::IfUnknown::kEmpty);
  ASSERT_TRUE(list.ok()) << list.status();
  const auto entries =
      Await(context_, list->Read(ParkingSql::Settled::kIncluded));
  EXPECT_THAT(*entries, IsEmpty());
}

TEST_F(ParkedListTest, ASlotThatHasNotUsedATableHasParkedNothing) {
  server_.Answer(kComments, {{Comment({})}});
  server_.Answer(kDescribe, NoTable());
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(*Await(context_, list->Read(ParkingSql::Settled::kIncluded)),
              IsEmpty());
}

TEST_F(ParkedListTest, ATableOfAnEarlierReleaseIsNotRead) {
  FakePostgres::Rows described = Described();
  described[0][5] = "f";
  server_.Answer(kDescribe, described);
  const auto list = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(list.status())) << list.status();
  EXPECT_THAT(std::string(list.status().message()),
              HasSubstr("made by an earlier release"));
}

// A table of 2,001 rows takes two statements.
TEST_F(ParkedListTest, P11EveryRowIsDecidedOnceInPortions) {
  server_.AnswerInTurn(kDecide, {{{"1", "t"}, {"2", "f"}}, {{"2001", "t"}}});
  std::vector<ParkedNumber> rows(2'001);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i + 1;
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  const auto decided = Await(
      context_, list->Decide(rows, ParkedState::kDiscarded, "bob", "paid"));
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_THAT(decided->rows, ElementsAre(1, 2, 2001));
  EXPECT_EQ(decided->sending, 2u);
  const auto statements = server_.StatementsWith(kDecide);
  ASSERT_THAT(statements, SizeIs(2));
  EXPECT_THAT(statements[0], HasSubstr(" 2000)"));
  EXPECT_THAT(statements[0], Not(HasSubstr(" 2001)")));
  EXPECT_THAT(statements[1], HasSubstr("number IN (2001)"));
  EXPECT_THAT(statements[1], HasSubstr("decided_by = 'bob'"));
  EXPECT_THAT(statements[1], HasSubstr("decided_why = 'paid'"));
}

TEST_F(ParkedListTest, DeadLettersAreDecidedAsSuch) {
  server_.Answer(kDecide, {{"1", "f"}});
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  for (const auto& [state, from] :
       {std::pair{ParkedState::kRetry, "'dead')"},
        std::pair{ParkedState::kDiscarded, "'dead', 'retry')"},
        std::pair{ParkedState::kLetterRetry, "dead_letter"},
        std::pair{ParkedState::kLetterDiscarded, "dead_letter_retry"}}) {
    ASSERT_TRUE(Await(context_, list->Decide({1}, state, "bob", "paid")).ok());
    EXPECT_THAT(server_.StatementsWith(kDecide).back(), HasSubstr(from));
    EXPECT_THAT(server_.StatementsWith(kDecide).back(),
                HasSubstr(fmt::format("state = '{}'", ToString(state))));
  }
}

TEST_F(ParkedListTest, ALockedTableIsNamedWithWhoHasIt) {
  server_.Fail(kDecide, "55P03", "lock timeout");
  server_.Answer("pg_catalog.pg_locks", {{"session 42"}});
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  const auto decided =
      Await(context_, list->Decide({1}, ParkedState::kRetry, "bob", "paid"));
  EXPECT_TRUE(absl::IsUnavailable(decided.status())) << decided.status();
  EXPECT_THAT(std::string(decided.status().message()),
              HasSubstr("is locked by session 42"));
}

TEST_F(ParkedListTest, StatesOfRowsThatStillExist) {
  server_.Answer("SELECT state FROM", {{"retry"}, {"released"}});
  auto list = Open();
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(*Await(context_, list->States({1, 2, 3})),
              ElementsAre(ParkedState::kRetry, ParkedState::kReleased));
}

TEST_F(ParkedListTest, CheckSaysWhetherAStreamMayUseTheTable) {
  server_.Answer("synchronous_standby_names", {{"f", "f"}});
  const Findings found = Check(true);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kOk);
  server_.Answer(kDescribe, Described("16500"));
  EXPECT_NE(FirstError(Check(true)), nullptr) << "it was made again";
  EXPECT_NE(FirstError(Check(false)), nullptr) << "the slot has used it";
  server_.Answer(kComments, {{Comment({})}});
  EXPECT_THAT(Check(false), IsEmpty());
}

TEST_F(ParkedListTest, EachFactOfTheTableIsJudged) {
  server_.Answer("synchronous_standby_names", {{"f", "f"}});
  const auto with = [this](size_t column, const std::string& value) {
    FakePostgres::Rows described = Described();
    described[0][column] = value;
    server_.Answer(kDescribe, described);
    const Findings found = Check(true);
    return found.empty() ? std::string() : found[0].text;
  };
  EXPECT_THAT(with(1, "f"), HasSubstr("is not a table"));
  EXPECT_THAT(with(2, "f"), HasSubstr("is unlogged"));
  EXPECT_THAT(with(3, "DELETE"), HasSubstr("lacks DELETE"));
  EXPECT_THAT(with(4, "t"), HasSubstr("hides rows"));
  EXPECT_THAT(with(5, "f"), HasSubstr("gets the columns"));
  EXPECT_THAT(with(8, "f"), HasSubstr("lacks their columns"));
  FakePostgres::Rows described = Described();
  described[0][5] = "f";
  described[0][6] = "f";
  server_.Answer(kDescribe, described);
  EXPECT_THAT(Check(true)[0].text, HasSubstr("may not add them"));
  server_.Answer(kComments, {{Comment({})}});
  server_.Answer(kDescribe, NoTable());
  EXPECT_THAT(Check(true)[0].text, HasSubstr("will be made"));
  server_.Answer(kRights, {{"relay", "f"}});
  EXPECT_THAT(Check(true)[0].text, HasSubstr("cannot be known"));
  server_.Answer(kRights, {{"relay", "t"}});
  described = NoTable();
  described[0][7] = "f";
  server_.Answer(kDescribe, described);
  EXPECT_THAT(Check(true)[0].text, HasSubstr("role relay may not make it"));
}

// Of the table that the slot has used before, under another name.
TEST_F(ParkedListTest, P9ATableOfAnotherNameThatIsInUseStopsTheStream) {
  server_.Answer("synchronous_standby_names", {{"f", "f"}});
  server_.Answer(kComments, {{Comment({"public.before", 9})}});
  server_.AnswerInTurn(
      kDescribe, {Described(), Described("9"), Described(), Described("9"),
                  Described(), Described("10")});
  server_.AnswerInTurn("SELECT EXISTS", {{{"t"}}, {{"f"}}});
  EXPECT_THAT(Check(true)[0].text, HasSubstr("are in table public.before"));
  EXPECT_EQ(FirstError(Check(true)), nullptr) << "nothing waits there";
  EXPECT_THAT(Check(true)[0].text,
              HasSubstr("public.before, which is missing"));
  EXPECT_THAT(server_.StatementsWith("SELECT EXISTS")[0],
              HasSubstr("FROM \"public\".\"before\""));
}

TEST_F(ParkedListTest, AnAsynchronousStandbyMayLackParkedEvents) {
  server_.Answer("synchronous_standby_names", {{"f", "t"}});
  EXPECT_EQ(Check(true).back().subject, "synchronous_standby_names");
  server_.Answer("synchronous_standby_names", {{"t", "t"}});
  EXPECT_THAT(Check(true), SizeIs(1));
}

TEST_F(ParkedListTest, P11NoErrorOfAStatementIsAnEmptyList) {
  server_.Answer(kList, {});
  server_.Answer(kDecide, {});
  const auto read = [this]() -> absl::Status {
    auto list = Open();
    if (!list.ok()) return list.status();
    constexpr auto kAll = ParkingSql::Settled::kIncluded;
    const auto parked = Await(context_, list->Read(kAll));
    if (!parked.ok()) return parked.status();
    return Await(context_, list->ReadLetters(kAll)).status();
  };
  EXPECT_THAT(testing::UnreportedFailures(server_, read), IsEmpty());
}

}  // namespace
}  // namespace walpost
