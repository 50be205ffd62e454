// The store of parked events when a call fails, when another session has the
// table, and after it was opened again.
#include "postgres/parking/parking_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>

#include "base/reason_code.h"
#include "checkpoint/birth_record.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "support/fake_postgres.h"
#include "support/parking_answers.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using namespace testing::parking;  // the words of the statements

constexpr char kComments[] = "obj_description";
constexpr char kRights[] = "pg_has_role(pubowner";
constexpr char kEndHolder[] = "pg_terminate_backend";
constexpr char kOthers[] = "numbering <> 5 AND state";
constexpr char kRename[] = "WITH shown AS";

constexpr char kTable[] = "public.walpost_parked";
constexpr Position kAt{Lsn(0x300), 2};
const std::optional<std::string> kNull;

class ParkingTableTest : public ::testing::Test {
 protected:
  ParkingTableTest() {
    server_.Answer(kComments, {{Comment({kTable, 16421})}});
    testing::AnswerEmptyParking(server_);
    postgres_.server = server_.options();
    postgres_.slot = "orders";
    postgres_.publication = "outbox";
    table_.emplace(context_.get_executor(), postgres_, kTable, 5);
    event_.position = kAt;
    event_.digest = "i1";
    event_.content.aggregate_id = "key";
    event_.content.payload = "body";
  }

  static std::string Comment(ParkedTable table) {
    BirthRecord record;
    record.slot = "orders";
    record.system_identifier = "77";
    record.consistent_point = Lsn(0x100);
    record.parked_table = std::move(table);
    return WithBirthRecord("", record);
  }

  absl::StatusOr<bool> Open(bool is_wanted = true,
                            ParkedTable on_record = {kTable, 16421}) {
    ParkingTable::Target target;
    target.system_identifier = "77";
    target.on_record = std::move(on_record);
    target.is_wanted = is_wanted;
    target.from = Lsn(0x200);
    return Await(context_, table_->Open(std::move(target)));
  }
  void OpenAndLoad() {
    const auto opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.status();
    const auto loaded = Await(context_, table_->Load(Lsn(0x200)));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
  }

  static FakePostgres::Row Lane(const char* is_this_cluster) {
    return {"\\x61", "\\x62", is_this_cluster, "t", SortableText(kAt),
            "i1",    kNull};
  }
  static FakePostgres::Row Sendable(char number) {
    return {std::string(7, '\0') + number, "77",   SortableText(kAt),
            EncodeParked(DeadLetter()),    "body", "class"};
  }
  absl::Status Insert() { return Await(context_, table_->Insert({&event_})); }
  absl::StatusOr<std::vector<ParkedRow>> ReadSendable() {
    ParkingSql::Sendable wanted;
    wanted.max_events = 10;
    return Await(context_, table_->ReadSendable(wanted));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  WalSourceOptions postgres_;
  std::optional<ParkingTable> table_;
  ParkedEvent event_;
};

TEST_F(ParkingTableTest, OpensTheTableOnRecordAndWritesNothing) {
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(*opened);
  EXPECT_TRUE(table_->is_open());
  EXPECT_EQ(table_->system_identifier(), "77");
  EXPECT_THAT(server_.StatementsWith(kLock), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith("COMMENT ON"), IsEmpty());
  EXPECT_THAT(server_.StatementsWith("create table if not exists"), IsEmpty());
}

TEST_F(ParkingTableTest, P9AMissingTableThatTheSlotHasUsedIsNotMadeAgain) {
  server_.Answer(kDescribe, testing::ParkingTableIsMissing());
  for (const bool is_wanted : {true, false}) {
    const auto opened = Open(is_wanted);
    EXPECT_EQ(ReasonCodeOf(opened.status()), kReasonParkedTableMissing);
    EXPECT_FALSE(table_->is_open());
  }
  EXPECT_THAT(server_.StatementsWith("create table if not exists"), IsEmpty());
  EXPECT_THAT(server_.StatementsWith(kLock), IsEmpty());
}

TEST_F(ParkingTableTest, P9ATableThatIsMadeIsPutOnRecord) {
  server_.Answer(kComments, {{Comment({})}});
  server_.Answer(kDescribe, testing::ParkingTableIsMissing());
  const auto opened = Open(true, {});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(server_.StatementsWith("create table if not exists"), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith("COMMENT ON PUBLICATION"),
              ElementsAre(HasSubstr("parked=public.walpost_parked:16421")));
}

TEST_F(ParkingTableTest, ATableThatIsNotWantedIsLeftAloneUnlessItIsInUse) {
  const auto opened = Open(false);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_FALSE(*opened);
  EXPECT_FALSE(table_->is_open());
  EXPECT_THAT(server_.StatementsWith(kLock), IsEmpty());
  server_.Answer("SELECT EXISTS", {{"t"}});
  EXPECT_TRUE(*Open(false));
  EXPECT_TRUE(table_->is_open());
}

TEST_F(ParkingTableTest, WithoutATableNothingWaits) {
  server_.Answer(kDescribe, testing::ParkingTableIsMissing());
  EXPECT_FALSE(*Open(false, {}));
  FakePostgres::Rows described = testing::ParkingTableIsThere();
  described[0][3] = "SELECT";
  server_.Answer(kDescribe, described);
  EXPECT_FALSE(*Open(false, {})) << "the role cannot have used it";
}

TEST_F(ParkingTableTest, P3TheSessionThatHasTheTableIsEndedFirst) {
  server_.AnswerInTurn(kLock, {{{"f"}}, {{"t"}}});
  server_.Answer(kEndHolder, {{"t"}});
  ASSERT_TRUE(*Open());
  EXPECT_THAT(server_.StatementsWith(kLock), SizeIs(2));
  EXPECT_THAT(server_.StatementsWith(kEndHolder), SizeIs(1));
}

TEST_F(ParkingTableTest, AnErrorOfOpenClosesTheSession) {
  for (const char* words : {kRights, kDescribe, kLock, kOid}) {
    server_.Drop(words);
    const auto opened = Open();
    EXPECT_TRUE(absl::IsUnavailable(opened.status())) << words;
    EXPECT_FALSE(table_->is_open()) << words;
    server_.Answer(kRights, {{"relay", "t"}});
    server_.Answer(kDescribe, testing::ParkingTableIsThere());
    server_.Answer(kLock, {{"t"}});
    server_.Answer(kOid, {{"16421"}});
  }
}

TEST_F(ParkingTableTest, P3LoadsWhatTheStreamMustKnow) {
  server_.Answer(kLoadLanes, {Lane("t")});
  server_.Answer(kLoadTopics, {{"orders", "t", "t", SortableText(kAt), "i1",
                                kNull, "t", "t", SortableText(kAt)}});
  server_.Answer(kLoadSettled,
                 {{SortableText(kAt), "released", "t", "i1", "7"}});
  ASSERT_TRUE(*Open());
  auto loaded = Await(context_, table_->Load(Lsn(0x200)));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->lanes, SizeIs(1));
  EXPECT_EQ(loaded->topics["orders"].last, kAt);
  EXPECT_NE(loaded->settled.Find(kAt, "i1"), nullptr);
}

TEST_F(ParkingTableTest, EachErrorOfLoadIsReported) {
  for (const char* words :
       {kNoDigest, kLoadLanes, kLoadTopics, kOthers, kLoadSettled}) {
    ASSERT_TRUE(*Open());
    server_.Fail(words, "57014", "canceled");
    const auto loaded = Await(context_, table_->Load(Lsn(0x200)));
    EXPECT_FALSE(loaded.ok()) << words;
    EXPECT_THAT(std::string(loaded.status().message()),
                HasSubstr("public.walpost_parked"));
    server_.Answer(words, {{"f"}});
    if (std::string(words) != kOthers) server_.Answer(words, {});
  }
}

TEST_F(ParkingTableTest, RowsOfEarlierReleasesGetTheirDigests) {
  DeadLetter content;
  content.source = "public.outbox";
  content.id = "1";
  std::string hex = "\\x";
  for (const unsigned char byte : EncodeParked(content)) {
    hex += fmt::format("{:02x}", byte);
  }
  server_.AnswerInTurn(kNoDigest, {{{"7", hex, "\\x62"}}, {}});
  OpenAndLoad();
  EXPECT_THAT(server_.StatementsWith("SET digest = given.digest"),
              ElementsAre(HasSubstr(
                  fmt::format("(7::bigint, '{}')", DigestOf(content)))));
}

TEST_F(ParkingTableTest, StoresEventsWithTheirPayloads) {
  OpenAndLoad();
  server_.Answer(kReadBack, {{SortableText(kAt), "i1", "7", "16421"}});
  const absl::Status stored = Insert();
  EXPECT_TRUE(stored.ok()) << stored;
  EXPECT_THAT(server_.parameters(), ElementsAre("body"));
  EXPECT_THAT(server_.StatementsWith(kRename), IsEmpty());
}

TEST_F(ParkingTableTest, P1WhatIsNotReadBackIsNotStored) {
  OpenAndLoad();
  server_.Answer(kReadBack, {});
  const absl::Status removed = Insert();
  EXPECT_TRUE(absl::IsFailedPrecondition(removed)) << removed;
  EXPECT_THAT(std::string(removed.message()), HasSubstr("has not kept"));
  server_.Answer(kReadBack, {{SortableText(kAt), "i1", "7", "16500"}});
  EXPECT_EQ(ReasonCodeOf(Insert()), kReasonParkedTableMissing);
  server_.Answer(kReadBack, {{SortableText(kAt), "i2", "7", "16421"}});
  const absl::Status other = Insert();
  EXPECT_EQ(ReasonCodeOf(other), kReasonParkedEventDiffers);
  server_.Fail(kReadBack, "57014", "canceled");
  EXPECT_FALSE(Insert().ok());
  server_.Fail(kInsert, "57014", "canceled");
  EXPECT_FALSE(Insert().ok());
}

// After a change of outbox.tables, and not any more after the next Load.
TEST_F(ParkingTableTest, P3EventsThatWereCountedOtherwiseAreFoundAgain) {
  server_.Answer(kOthers, {{"t"}});
  OpenAndLoad();
  server_.Answer(kRename, {});
  server_.Answer(kReadBack, {{SortableText(kAt), "i1", "7", "16421"}});
  ASSERT_TRUE(Insert().ok());
  EXPECT_THAT(server_.StatementsWith(kRename), SizeIs(1));
  server_.Fail(kRename, "57014", "canceled");
  EXPECT_FALSE(Insert().ok());
  server_.Answer(kOthers, {{"f"}});
  OpenAndLoad();
  EXPECT_TRUE(Insert().ok());
  EXPECT_THAT(server_.StatementsWith(kRename), SizeIs(2)) << "no third one";
}

TEST_F(ParkingTableTest, P3EventsOfAnEarlierClusterComeFirst) {
  server_.Answer(kReadTopics, {});
  server_.Answer(kSendable, {});
  const auto place = [this] {
    EXPECT_TRUE(ReadSendable().ok());
    EXPECT_TRUE(Await(context_, table_->ReadTopics(LaneScope::kKey)).ok());
    const bool in_rows = server_.StatementsWith(kSendable).back().find(
                             "THEN '1' ELSE '0'") != std::string::npos;
    const bool in_topics =
        server_.StatementsWith(kReadTopics).back().find("THEN '1' ELSE '0'") !=
        std::string::npos;
    EXPECT_EQ(in_rows, in_topics);
    return in_rows;
  };
  server_.Answer(kLoadLanes, {Lane("t")});
  OpenAndLoad();
  EXPECT_FALSE(place());
  server_.Answer(kLoadLanes, {Lane("t"), Lane("f")});
  OpenAndLoad();
  EXPECT_TRUE(place());
  server_.Answer(kLoadLanes, {});
  server_.Answer(kLoadTopics, {{"orders", "f", "t", SortableText(kAt), "i1",
                                kNull, "t", "t", SortableText(kAt)}});
  OpenAndLoad();
  EXPECT_TRUE(place());
  server_.Answer(kLoadTopics, {});
  OpenAndLoad();
  EXPECT_FALSE(place());
}

TEST_F(ParkingTableTest, P3KeysAreNotFreeBecauseAnotherTableHasNone) {
  OpenAndLoad();
  server_.Answer(kReadLanes, {{"\\x61", "\\x62", "5", "4", "3"}});
  EXPECT_THAT(*Await(context_, table_->ReadLanes()), SizeIs(1));
  server_.Answer(kReadLanes, {});
  server_.Answer(kOid, {{"16500"}});
  EXPECT_EQ(ReasonCodeOf(Await(context_, table_->ReadLanes()).status()),
            kReasonParkedTableMissing);
}

TEST_F(ParkingTableTest, WhatAnOperatorHasDiscardedMeanwhileIsNotSent) {
  OpenAndLoad();
  server_.Answer(kSendable, {Sendable(1), Sendable(2)});
  server_.Answer(kNote, {{"2", "t"}});
  const auto rows = ReadSendable();
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_THAT(*rows, SizeIs(1));
  EXPECT_EQ(rows->front().number, 2u);
  EXPECT_EQ(rows->front().content.error_class, "") << "it has none";
}

TEST_F(ParkingTableTest, P5WhatCannotBeMarkedAfterwardsIsNotSent) {
  OpenAndLoad();
  server_.Answer(kSendable, {Sendable(1)});
  server_.Answer(kNote, {{"1", "f"}});
  const auto rows = ReadSendable();
  EXPECT_TRUE(absl::IsFailedPrecondition(rows.status())) << rows.status();
  EXPECT_THAT(std::string(rows.status().message()), HasSubstr("GRANT"));
  server_.Fail(kNote, "57014", "canceled");
  EXPECT_FALSE(ReadSendable().ok());
}

TEST_F(ParkingTableTest, RetriedLettersHaveTheirClass) {
  OpenAndLoad();
  server_.Answer("dead_letter_retry", {Sendable(1)});
  server_.Answer(kNote, {{"1", "t"}});
  const auto rows = Await(context_, table_->ReadRetries(10, 1000));
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->at(0).content.error_class, "class");
}

// They are in Kafka; the next session marks them.
TEST_F(ParkingTableTest, P5WhatWasSentAndNotMarkedIsMarkedByTheNextOpen) {
  OpenAndLoad();
  server_.Fail(kDelete, "57014", "canceled");
  EXPECT_FALSE(Await(context_, table_->Release({7, 8})).ok());
  server_.Answer(kDelete, {});
  const size_t before = server_.StatementsWith(kDelete).size();
  ASSERT_TRUE(*Open());
  auto marked = server_.StatementsWith(kDelete);
  ASSERT_THAT(marked, SizeIs(before + 1));
  EXPECT_THAT(marked.back(), HasSubstr("number IN (7, 8)"));
  ASSERT_TRUE(Await(context_, table_->Release({9})).ok());
  EXPECT_THAT(server_.StatementsWith(kDelete).back(),
              HasSubstr("number IN (9)"));
}

TEST_F(ParkingTableTest, P5LikewiseRetriedLetters) {
  OpenAndLoad();
  server_.Fail(kSettle, "57014", "canceled");
  EXPECT_FALSE(Await(context_, table_->SettleRetries({7})).ok());
  server_.Answer(kSettle, {});
  ASSERT_TRUE(*Open());
  EXPECT_THAT(server_.StatementsWith(kSettle).back(),
              HasSubstr("number IN (7)"));
  ASSERT_TRUE(Await(context_, table_->SettleRetries({8})).ok());
  EXPECT_THAT(server_.StatementsWith(kSettle).back(),
              HasSubstr("number IN (8)"));
}

TEST_F(ParkingTableTest, AFailedEventIsDeadWithItsReason) {
  OpenAndLoad();
  ASSERT_TRUE(Await(context_, table_->Fail(7, "class", "too large")).ok());
  EXPECT_THAT(server_.StatementsWith("state = 'dead', sending_since").back(),
              HasSubstr("error_class = 'class', reason = 'too large'"));
  server_.Answer("state = 'dead_letter'", {});
  ASSERT_TRUE(Await(context_, table_->FailRetry(8, "class", "again")).ok());
  EXPECT_THAT(server_.StatementsWith("state = 'dead_letter'").back(),
              HasSubstr("'again'"));
}

TEST_F(ParkingTableTest, AMissingRightIsNamedWithItsGrant) {
  OpenAndLoad();
  server_.Fail(kReadDead, "42501", "permission denied");
  const auto dead = Await(context_, table_->ReadDead());
  EXPECT_TRUE(absl::IsFailedPrecondition(dead.status())) << dead.status();
  EXPECT_THAT(std::string(dead.status().message()),
              HasSubstr("user u may not"));
  server_.Answer(kReadDead, {{"3/17"}});
  EXPECT_EQ(*Await(context_, table_->ReadDead()), "3/17");
}

TEST_F(ParkingTableTest, NobodyWaitsForAStatementThatIsThrough) {
  ASSERT_TRUE(*Open());
  EXPECT_EQ(table_->wait(), std::nullopt);
  std::optional<ParkingTable::Wait> during;
  server_.AnswerAfter(kReadDead, {{"0/0"}}, [&] { during = table_->wait(); });
  ASSERT_TRUE(Await(context_, table_->ReadDead()).ok());
  ASSERT_TRUE(during.has_value());
  EXPECT_EQ(during->pid, 4711);
  EXPECT_EQ(table_->wait(), std::nullopt);
}

}  // namespace
}  // namespace walpost
