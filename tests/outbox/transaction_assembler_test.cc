#include "outbox/transaction_assembler.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/reason_code.h"
#include "support/message_bytes.h"
#include "support/message_feed.h"

namespace walpost {
namespace {

using namespace testing;  // the builders of bytes

constexpr uint32_t kOutbox = 16384;
constexpr uint32_t kOrders = 16390;
constexpr Lsn kCommit(0x1000);
constexpr Lsn kEnd(0x1030);
constexpr Lsn kLater(0x2000);
constexpr Lsn kLaterEnd(0x2030);

OutboxOptions MakeOptions() {
  OutboxOptions options;
  options.tables.resize(1);  // public.outbox
  options.messages.prefix = "outbox";
  options.route.topic = "all";
  return options;
}

// Feeds and expects it to be taken; then step() says what it meant.
class TransactionAssemblerTest : public ::testing::Test {
 protected:
  explicit TransactionAssemblerTest(
      const OutboxOptions& options = MakeOptions())
      : feed_(options) {}

  const Step& Feed(std::string_view message) {
    const absl::Status status = feed_.Feed(message);
    EXPECT_TRUE(status.ok()) << status;
    return feed_.step();
  }

  void ExpectNothing(std::string_view message) {
    EXPECT_EQ(Feed(message).kind, Step::Kind::kNothing);
  }

  void ExpectPassedOver(std::string_view message) {
    EXPECT_EQ(Feed(message).kind, Step::Kind::kPassedOver);
  }

  const Event& FeedEvent(std::string_view message) {
    EXPECT_EQ(Feed(message).kind, Step::Kind::kEvent);
    return feed_.step().event;
  }

  void ExpectDataLoss(std::string_view message) {
    const absl::Status status = feed_.Feed(message);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(std::string(status.message()).starts_with("replication stream"))
        << status;
  }

  void DescribeOutbox() {
    ExpectNothing(RelationMessage(kOutbox, "public", "outbox",
                                  {{"id"}, {"aggregate_id"}, {"payload"}}));
  }
  void DescribeOrders() {
    ExpectNothing(RelationMessage(kOrders, "public", "orders", {{"id"}}));
  }
  std::string Row(std::string_view id) {
    return InsertMessage(kOutbox, {Text(id), Text("k"), Null()});
  }

  MessageFeed feed_;
};

TEST_F(TransactionAssemblerTest, GivesTheEventsOfATransactionAndThenItsEnd) {
  ExpectNothing(BeginMessage(kCommit, 5, 781));
  EXPECT_TRUE(feed_.assembler().in_transaction());
  DescribeOutbox();
  const Event& event = FeedEvent(Row("1"));
  EXPECT_EQ(event.id, "1");
  EXPECT_EQ(event.aggregate_id, "k");
  EXPECT_EQ(event.payload, std::nullopt);
  EXPECT_EQ(event.source, 0u);
  EXPECT_EQ(event.position, (Position{kCommit, 1}));
  EXPECT_EQ(event.commit_time, FromPostgresMicros(5));
  EXPECT_EQ(event.timestamp, FromPostgresMicros(5));
  EXPECT_EQ(event.xid, Xid(781));
  const Step& end = Feed(CommitMessage(kCommit, kEnd));
  EXPECT_EQ(end.kind, Step::Kind::kTransactionEnd);
  EXPECT_EQ(end.end_lsn, kEnd);
  EXPECT_FALSE(feed_.assembler().in_transaction());
}

TEST_F(TransactionAssemblerTest, CountsEventsFromOneInEveryTransaction) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("a")).position, (Position{kCommit, 1}));
  EXPECT_EQ(FeedEvent(Row("b")).position, (Position{kCommit, 2}));
  Feed(CommitMessage(kCommit, kEnd));
  ExpectNothing(BeginMessage(kLater));
  EXPECT_EQ(FeedEvent(Row("c")).position, (Position{kLater, 1}));
}

TEST_F(TransactionAssemblerTest, OrdinalsCountEventsNotRowsOfOtherTables) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  DescribeOrders();
  EXPECT_EQ(FeedEvent(Row("a")).position.ordinal, 1u);
  ExpectPassedOver(InsertMessage(kOrders, {Text("7")}));
  ExpectNothing(LogicalMessageMessage(true, kCommit, "other", "{}"));
  ExpectNothing(LogicalMessageMessage(false, kCommit, "outbox", "{}"));
  EXPECT_EQ(FeedEvent(Row("b")).position.ordinal, 2u);
  EXPECT_EQ(feed_.assembler().skipped().rows_of_other_tables, 1u);
}

TEST_F(TransactionAssemblerTest, TellsOfARowOfAnotherTableUntilItIsNoted) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOrders();
  for (int i = 0; i < 2; ++i) {
    ExpectPassedOver(InsertMessage(kOrders, {Text("7")}));
    const OtherRelation& relation = feed_.step().relation;
    EXPECT_EQ(relation.oid, kOrders);
    EXPECT_EQ(relation.name, "public.orders");
    EXPECT_EQ(relation.commit_lsn, kCommit);
  }
  feed_.assembler().PassOver(kOrders);
  ExpectNothing(InsertMessage(kOrders, {Text("7")}));
  // With another column it is the same table.
  ExpectNothing(RelationMessage(kOrders, "public", "orders", {{"id"}, {"n"}}));
  ExpectNothing(InsertMessage(kOrders, {Text("7"), Text("8")}));
  EXPECT_EQ(feed_.assembler().skipped().rows_of_other_tables, 4u);
}

TEST_F(TransactionAssemblerTest, AnEmptyTransactionStillEnds) {
  ExpectNothing(BeginMessage(kCommit));
  EXPECT_EQ(Feed(CommitMessage(kCommit, kEnd)).end_lsn, kEnd);
}

// ---- Relations.

TEST_F(TransactionAssemblerTest, ARelationMayChangeInMidTransaction) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).id, "1");
  // alter table outbox add column type, and the others move
  ExpectNothing(
      RelationMessage(kOutbox, "public", "outbox",
                      {{"type"}, {"payload"}, {"aggregate_id"}, {"id"}}));
  const Event& event = FeedEvent(
      InsertMessage(kOutbox, {Text("t"), Text("p"), Text("42"), Text("2")}));
  EXPECT_EQ(event.id, "2");
  EXPECT_EQ(event.type, "t");
  EXPECT_EQ(event.aggregate_id, "42");
  EXPECT_EQ(event.payload, "p");
  EXPECT_EQ(event.position.ordinal, 2u);
}

// The key would be null from here on, and the order per key lost.
TEST_F(TransactionAssemblerTest, P3AKeyThatIsLostInMidStreamStopsTheFlow) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).id, "1");
  ExpectNothing(
      RelationMessage(kOutbox, "public", "outbox", {{"id"}, {"payload"}}));
  const Step& step = Feed(InsertMessage(kOutbox, {Text("2"), Text("p")}));
  EXPECT_EQ(step.kind, Step::Kind::kUndeliverable);
  EXPECT_EQ(ReasonCodeOf(step.error), kReasonTableUnsuitable);
  EXPECT_NE(std::string(step.error.message()).find("for aggregate_id any more"),
            std::string::npos)
      << step.error;
}

TEST_F(TransactionAssemblerTest, P3AKeyThatIsLostBetweenConnectionsIsMissed) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  MessageFeed next(MakeOptions());
  next.assembler().Remember(feed_.assembler().mapped_fields());
  ASSERT_TRUE(next.Feed(BeginMessage(kLater)).ok());
  ASSERT_TRUE(next.Feed(RelationMessage(kOutbox, "public", "outbox",
                                        {{"id"}, {"payload"}}))
                  .ok());
  ASSERT_TRUE(next.Feed(InsertMessage(kOutbox, {Text("2"), Text("p")})).ok());
  EXPECT_EQ(next.step().kind, Step::Kind::kUndeliverable);
}

// Another column, added later, does not make the key younger.
TEST_F(TransactionAssemblerTest, P3AKeyIsMissedSinceItsFirstRow) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  Feed(CommitMessage(kCommit, kEnd));
  ExpectNothing(BeginMessage(kLater));
  ExpectNothing(
      RelationMessage(kOutbox, "public", "outbox",
                      {{"id"}, {"aggregate_id"}, {"payload"}, {"note"}}));
  MessageFeed next(MakeOptions());
  next.assembler().Remember(feed_.assembler().mapped_fields());
  ASSERT_TRUE(next.Feed(BeginMessage(Lsn(0x1800))).ok());
  ASSERT_TRUE(next.Feed(RelationMessage(kOutbox, "public", "outbox",
                                        {{"id"}, {"payload"}}))
                  .ok());
  ASSERT_TRUE(next.Feed(InsertMessage(kOutbox, {Text("2"), Text("p")})).ok());
  EXPECT_EQ(next.step().kind, Step::Kind::kUndeliverable);
}

// It was committed before the table had that column.
TEST_F(TransactionAssemblerTest, P8AnOldRowIsRepeatedInItsOldShape) {
  ExpectNothing(BeginMessage(kLater));
  ExpectNothing(
      RelationMessage(kOutbox, "public", "outbox",
                      {{"id"}, {"aggregate_id"}, {"payload"}, {"headers"}}));
  MessageFeed next(MakeOptions());
  next.assembler().Remember(feed_.assembler().mapped_fields());
  ASSERT_TRUE(next.Feed(BeginMessage(kCommit)).ok());
  ASSERT_TRUE(
      next.Feed(RelationMessage(kOutbox, "public", "outbox",
                                {{"id"}, {"aggregate_id"}, {"payload"}}))
          .ok());
  ASSERT_TRUE(next.Feed(Row("1")).ok());
  EXPECT_EQ(next.step().kind, Step::Kind::kEvent);
  ASSERT_TRUE(next.Feed(CommitMessage(kCommit, kEnd)).ok());
  ASSERT_TRUE(next.Feed(BeginMessage(Lsn(0x3000))).ok());
  ASSERT_TRUE(next.Feed(RelationMessage(kOutbox, "public", "outbox",
                                        {{"id"}, {"aggregate_id"}, {"text"}}))
                  .ok());
  ASSERT_TRUE(next.Feed(Row("2")).ok());
  EXPECT_EQ(next.step().kind, Step::Kind::kUndeliverable) << "they are gone";
}

TEST_F(TransactionAssemblerTest, ARowMustFitTheLatestRelation) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  ExpectNothing(
      RelationMessage(kOutbox, "public", "outbox",
                      {{"id"}, {"payload"}, {"aggregate_id"}, {"type"}}));
  EXPECT_TRUE(absl::IsDataLoss(feed_.Feed(Row("1"))));
}

TEST_F(TransactionAssemblerTest, ARelationSentAgainUnchangedChangesNothing) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).id, "1");
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("2")).id, "2");
}

TEST_F(TransactionAssemblerTest, ARenamedTableIsNoOutboxAnyMore) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  ExpectNothing(RelationMessage(kOutbox, "public", "outbox_old",
                                {{"id"}, {"aggregate_id"}, {"payload"}}));
  ExpectPassedOver(Row("1"));
  EXPECT_EQ(feed_.assembler().skipped().rows_of_other_tables, 1u);
}

TEST_F(TransactionAssemblerTest, TheSameNameInAnotherSchemaIsAnotherTable) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(RelationMessage(7, "private", "outbox", {{"id"}}));
  ExpectPassedOver(InsertMessage(7, {Text("1")}));
}

TEST(TransactionAssemblerSourcesTest, EventsKnowWhichTableTheyCameFrom) {
  OutboxOptions options = MakeOptions();
  options.tables.push_back({.name = "App.Outbox Table",
                            .columns = {},
                            .topic = "",
                            .value_columns = {}});
  MessageFeed feed(options);
  ASSERT_TRUE(feed.Feed(BeginMessage(kCommit)).ok());
  ASSERT_TRUE(
      feed.Feed(RelationMessage(8, "App", "Outbox Table", {{"id"}})).ok());
  ASSERT_TRUE(feed.Feed(InsertMessage(8, {Text("1")})).ok());
  EXPECT_EQ(feed.step().event.source, 1u);
  ASSERT_TRUE(
      feed.Feed(LogicalMessageMessage(true, kCommit, "outbox", "{}")).ok());
  EXPECT_EQ(feed.step().event.source, 2u) << "the messages come last";
}

// ---- Origins.

OutboxOptions OwnOnly() {
  OutboxOptions options = MakeOptions();
  options.origin = OriginFilter::kNone;
  return options;
}

class OriginTest : public TransactionAssemblerTest {
 protected:
  OriginTest() : TransactionAssemblerTest(OwnOnly()) {}

  const SkippedChanges& skipped() { return feed_.assembler().skipped(); }
};

TEST_F(TransactionAssemblerTest, AnOriginDoesNotMatterUnlessItIsFiltered) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(OriginMessage(Lsn(1), "peer"));
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).position.ordinal, 1u);
  EXPECT_EQ(feed_.assembler().skipped().events_of_other_origins, 0u);
}

TEST_F(TransactionAssemblerTest, AnOriginIsInATransaction) {
  ExpectDataLoss(OriginMessage(Lsn(1), "peer"));
}

TEST_F(OriginTest, SkipsAndCountsAReplicatedTransactionAndGivesItsEnd) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(OriginMessage(Lsn(1), "peer"));
  DescribeOutbox();
  DescribeOrders();
  ExpectNothing(Row("1"));
  ExpectNothing(LogicalMessageMessage(true, kCommit, "outbox", "{"));
  ExpectNothing(InsertMessage(kOrders, {Text("7")}));
  const Step& end = Feed(CommitMessage(kCommit, kEnd));
  EXPECT_EQ(end.kind, Step::Kind::kTransactionEnd);
  EXPECT_EQ(end.end_lsn, kEnd);
  EXPECT_EQ(skipped().events_of_other_origins, 2u);
  EXPECT_EQ(skipped().transactions_of_other_origins, 1u);
}

TEST_F(OriginTest, TheNextTransactionHasAnOriginOfItsOwn) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(OriginMessage(Lsn(1), "peer"));
  DescribeOutbox();
  ExpectNothing(Row("1"));
  Feed(CommitMessage(kCommit, kEnd));
  ExpectNothing(BeginMessage(kLater));
  EXPECT_EQ(FeedEvent(Row("2")).position, (Position{kLater, 1}));
}

TEST_F(OriginTest, ATransactionWithoutEventsDoesNotCount) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(OriginMessage(Lsn(1), "peer"));
  ExpectNothing(LogicalMessageMessage(false, kCommit, "outbox", "{}"));
  ExpectNothing(LogicalMessageMessage(true, kCommit, "other", "{}"));
  Feed(CommitMessage(kCommit, kEnd));
  EXPECT_EQ(skipped().transactions_of_other_origins, 0u);
}

TEST_F(OriginTest, ARowThatCannotBeDeliveredIsSkipped) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(OriginMessage(Lsn(1), "peer"));
  ExpectNothing(RelationMessage(kOutbox, "public", "outbox", {{"other"}}));
  ExpectNothing(InsertMessage(kOutbox, {Text("7")}));
  EXPECT_EQ(skipped().events_of_other_origins, 1u);
}

TEST_F(OriginTest, AnOriginBehindAnEventIsNotWhatServersSend) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  FeedEvent(Row("1"));
  ExpectDataLoss(OriginMessage(Lsn(1), "peer"));
}

// ---- Logical messages.

TEST_F(TransactionAssemblerTest, TransactionalMessagesAreEventsAmongTheRows) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).position.ordinal, 1u);
  const Event& event = FeedEvent(LogicalMessageMessage(
      true, kCommit, "outbox", R"({"id": "2", "payload": {}})"));
  EXPECT_EQ(event.id, "2");
  EXPECT_EQ(event.payload, "{}");
  EXPECT_EQ(event.position, (Position{kCommit, 2}));
  EXPECT_EQ(event.source, 1u);
  EXPECT_EQ(FeedEvent(Row("3")).position.ordinal, 3u);
}

TEST_F(TransactionAssemblerTest, P4NontransactionalMessagesAreNoEvents) {
  ExpectNothing(LogicalMessageMessage(false, kCommit, "outbox", "{}"));
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(LogicalMessageMessage(false, kCommit, "outbox", "{}"));
  EXPECT_EQ(feed_.assembler().skipped().nontransactional_messages, 2u);
}

TEST_F(TransactionAssemblerTest, MessagesOfOtherPrefixesAreNotOurs) {
  ExpectNothing(BeginMessage(kCommit));
  for (const char* prefix : {"", "outbo", "outbox2", "OUTBOX"}) {
    ExpectNothing(LogicalMessageMessage(true, kCommit, prefix, "no JSON"));
  }
  EXPECT_EQ(feed_.assembler().skipped().messages_of_other_prefixes, 4u);
}

TEST(TransactionAssemblerSourcesTest, WithoutAPrefixNoMessageIsRead) {
  OutboxOptions options = MakeOptions();
  options.messages.prefix = "";
  MessageFeed feed(options);
  ASSERT_TRUE(feed.Feed(BeginMessage(kCommit)).ok());
  ASSERT_TRUE(feed.Feed(LogicalMessageMessage(true, kCommit, "", "{}")).ok());
  EXPECT_EQ(feed.step().kind, Step::Kind::kNothing);
}

// ---- What is passed over.

TEST_F(TransactionAssemblerTest, ChangesOtherThanInsertsAreCounted) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  ExpectNothing(UpdateMessage(kOutbox, 0, {}, {Text("1"), Null(), Null()}));
  ExpectNothing(DeleteMessage(kOutbox, 'K', {Text("1"), Null(), Null()}));
  ExpectNothing(UpdateMessage(kOutbox, 'K', {Text("1"), Null(), Null()},
                              {Text("2"), Null(), Null()}));
  ExpectNothing(TruncateMessage(0, {kOutbox}));
  const SkippedChanges& skipped = feed_.assembler().skipped();
  EXPECT_EQ(skipped.updates, 1u);
  EXPECT_EQ(skipped.key_updates, 1u);
  EXPECT_EQ(skipped.deletes, 1u);
  EXPECT_EQ(skipped.truncates, 1u);
  EXPECT_EQ(skipped.rows_of_other_tables, 0u);
}

TEST_F(TransactionAssemblerTest, ChangedRowsOfOtherTablesAreCountedTogether) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(RelationMessage(7, "public", "orders", {{"id"}}));
  ExpectPassedOver(InsertMessage(7, {Text("1")}));
  ExpectNothing(UpdateMessage(7, 'K', {Text("1")}, {Text("2")}));
  ExpectNothing(DeleteMessage(7, 'K', {Text("1")}));
  ExpectNothing(TruncateMessage(0, {7}));
  const SkippedChanges& skipped = feed_.assembler().skipped();
  EXPECT_EQ(skipped.rows_of_other_tables, 3u);
  EXPECT_EQ(skipped.key_updates + skipped.deletes + skipped.truncates, 0u);
}

TEST_F(TransactionAssemblerTest, UnknownKindsAreCountedAnywhere) {
  ExpectNothing("A\0\0\0\1\0\0\0\2");  // PostgreSQL 18's stray Stream Abort
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing("S");
  EXPECT_EQ(feed_.assembler().skipped().unknown_messages, 2u);
  EXPECT_TRUE(feed_.assembler().in_transaction());
}

TEST_F(TransactionAssemblerTest, OriginsAndTypesSayNothing) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(OriginMessage(Lsn(1), "upstream"));
  ExpectNothing(TypeMessage(16400, "public", "mood"));
  EXPECT_EQ(feed_.assembler().skipped().unknown_messages, 0u);
}

// ---- What cannot be delivered.

TEST_F(TransactionAssemblerTest, AnUndeliverableEventKeepsItsPlace) {
  ExpectNothing(BeginMessage(kCommit));
  const Step& step =
      Feed(LogicalMessageMessage(true, kCommit, "outbox", "no JSON"));
  EXPECT_EQ(step.kind, Step::Kind::kUndeliverable);
  EXPECT_TRUE(absl::IsInvalidArgument(step.error)) << step.error;
  EXPECT_EQ(step.event.position, (Position{kCommit, 1}));
  EXPECT_EQ(step.event.source, 1u);
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("2")).position.ordinal, 2u);
}

TEST_F(TransactionAssemblerTest, ATableWhoseColumnsDoNotFitIsNotSkipped) {
  OutboxOptions options = MakeOptions();
  options.tables[0].columns.id = {FieldSource::Kind::kColumn, "uuid"};
  MessageFeed feed(options);
  ASSERT_TRUE(feed.Feed(BeginMessage(kCommit)).ok());
  ASSERT_TRUE(feed.Feed(RelationMessage(kOutbox, "public", "outbox",
                                        {{"id"}, {"payload"}}))
                  .ok());
  for (uint64_t ordinal = 1; ordinal <= 2; ++ordinal) {
    ASSERT_TRUE(feed.Feed(InsertMessage(kOutbox, {Text("1"), Null()})).ok());
    EXPECT_EQ(feed.step().kind, Step::Kind::kUndeliverable);
    EXPECT_TRUE(absl::IsFailedPrecondition(feed.step().error));
    EXPECT_EQ(feed.step().event.position.ordinal, ordinal);
  }
  // The table is altered, and fits again.
  ASSERT_TRUE(feed.Feed(RelationMessage(kOutbox, "public", "outbox",
                                        {{"uuid"}, {"payload"}}))
                  .ok());
  ASSERT_TRUE(feed.Feed(InsertMessage(kOutbox, {Text("1"), Null()})).ok());
  EXPECT_EQ(feed.step().kind, Step::Kind::kEvent);
}

TEST_F(TransactionAssemblerTest, AnUndeliverableEventShowsNothingOfTheLastOne) {
  ExpectNothing(BeginMessage(kCommit));
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).id, "1");
  const Step& step =
      Feed(LogicalMessageMessage(true, kCommit, "outbox", "no JSON"));
  EXPECT_EQ(step.kind, Step::Kind::kUndeliverable);
  EXPECT_EQ(step.event.id, std::nullopt)
      << "an operator would look for the wrong row";
}

// ---- A stream that contradicts itself.

TEST_F(TransactionAssemblerTest, ChangesOutsideATransactionAreDataLoss) {
  DescribeOutbox();
  ExpectDataLoss(Row("1"));
  ExpectDataLoss(LogicalMessageMessage(true, kCommit, "outbox", "{}"));
  ExpectDataLoss(CommitMessage(kCommit, kEnd));
}

TEST_F(TransactionAssemblerTest, ABeginInsideATransactionIsDataLoss) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectDataLoss(BeginMessage(kLater));
}

TEST_F(TransactionAssemblerTest, ASecondCommitIsDataLoss) {
  ExpectNothing(BeginMessage(kCommit));
  Feed(CommitMessage(kCommit, kEnd));
  ExpectDataLoss(CommitMessage(kCommit, kEnd));
}

TEST_F(TransactionAssemblerTest, ACommitOfAnotherTransactionIsDataLoss) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectDataLoss(CommitMessage(kLater, kLaterEnd));
}

TEST_F(TransactionAssemblerTest, ACommitThatEndsBeforeItBeginsIsDataLoss) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectDataLoss(CommitMessage(kCommit, kCommit));
}

TEST_F(TransactionAssemblerTest, AnInsertIntoAnUnknownRelationIsDataLoss) {
  ExpectNothing(BeginMessage(kCommit));
  ExpectDataLoss(Row("1"));
}

// Positions only grow along a stream (position.h). What goes back would be
// taken for a repeat and passed over: an event lost without a word.
TEST_F(TransactionAssemblerTest, P1ATransactionThatGoesBackIsDataLoss) {
  ExpectNothing(BeginMessage(kLater));
  Feed(CommitMessage(kLater, kLaterEnd));
  ExpectDataLoss(BeginMessage(kCommit));
}

TEST_F(TransactionAssemblerTest, P9RowsOfARenamedTableStopTheFlow) {
  feed_.assembler().SetTableOids({kOutbox});
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(RelationMessage(kOutbox, "public", "away",
                                {{"id"}, {"aggregate_id"}, {"payload"}}));
  const Step& step = Feed(Row("1"));
  ASSERT_EQ(step.kind, Step::Kind::kUndeliverable);
  EXPECT_EQ(ReasonCodeOf(step.error), kReasonTableUnsuitable);
  EXPECT_NE(step.error.message().find("public.away"), std::string::npos);
  EXPECT_EQ(feed_.assembler().skipped().rows_of_other_tables, 0u);
}

class RenamedTablesTest : public TransactionAssemblerTest {
 protected:
  // public.outbox was renamed away, and another table has its name now.
  RenamedTablesTest() {
    OutboxOptions options = MakeOptions();
    options.tables.resize(2);
    options.tables[0].name = "public.outbox_before";
    options.tables[0].formerly = {"public.outbox"};
    options.tables[1].name = "public.outbox";
    options.tables[1].formerly.emplace();
    std::destroy_at(&feed_);
    std::construct_at(&feed_, options);
    ExpectNothing(BeginMessage(kCommit));
  }
};

TEST_F(RenamedTablesTest, TheOidTellsTwoTablesOfOneNameApart) {
  feed_.assembler().SetTableOids({kOutbox, kOrders});
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).source, 0u);
  ExpectNothing(RelationMessage(kOrders, "public", "outbox",
                                {{"id"}, {"aggregate_id"}, {"payload"}}));
  EXPECT_EQ(
      FeedEvent(InsertMessage(kOrders, {Text("2"), Text("k"), Null()})).source,
      1u);
}

// As where a slot is only looked through.
TEST_F(RenamedTablesTest, WithoutOidsTheNameOfTodayComesFirst) {
  DescribeOutbox();
  EXPECT_EQ(FeedEvent(Row("1")).source, 1u);
}

TEST_F(TransactionAssemblerTest, WithoutOidsAFormerNameIsEnough) {
  OutboxOptions options = MakeOptions();
  options.tables[0].formerly = {"public.first", "public.second"};
  MessageFeed feed(options);
  const auto take = [&feed](const std::string& message) {
    EXPECT_TRUE(feed.Feed(message).ok());
    return feed.step().kind;
  };
  take(BeginMessage(kCommit));
  take(RelationMessage(kOutbox, "public", "second",
                       {{"id"}, {"aggregate_id"}, {"payload"}}));
  EXPECT_EQ(take(Row("1")), Step::Kind::kEvent);
  take(RelationMessage(kOutbox, "public", "third",
                       {{"id"}, {"aggregate_id"}, {"payload"}}));
  EXPECT_EQ(take(Row("2")), Step::Kind::kPassedOver);
}

// The table and its name in the configuration were changed together.
TEST_F(TransactionAssemblerTest, RowsUnderAFormerNameAreEvents) {
  feed_.assembler().SetTableOids({kOutbox}, {"public.away"});
  ExpectNothing(BeginMessage(kCommit));
  ExpectNothing(RelationMessage(kOutbox, "public", "away",
                                {{"id"}, {"aggregate_id"}, {"payload"}}));
  EXPECT_EQ(FeedEvent(Row("1")).id, "1");
  // Another table that has taken the name.
  ExpectNothing(RelationMessage(kOrders, "public", "away", {{"id"}}));
  ExpectPassedOver(InsertMessage(kOrders, {Text("7")}));
}

// Nothing of it is an event, and nothing is passed over.
TEST_F(TransactionAssemblerTest, ATableThatIsNewByItsPatternIsNamed) {
  OutboxOptions options = MakeOptions();
  options.patterns.emplace_back().name = "tenant_*.outbox";
  MessageFeed feed(options);
  feed.assembler().SetTableOids({kOutbox});
  const auto take = [&feed](const std::string& message) -> const Step& {
    EXPECT_TRUE(feed.Feed(message).ok());
    return feed.step();
  };
  take(BeginMessage(kCommit));
  // A partition that is published as its root.
  EXPECT_EQ(take(RelationMessage(kOrders, "tenant_1", "outbox", {{"id"}})).kind,
            Step::Kind::kNothing);
  const Step& step = take(InsertMessage(kOrders, {Text("7")}));
  EXPECT_EQ(step.kind, Step::Kind::kNewTable);
  EXPECT_EQ(step.relation.name, "tenant_1.outbox");
  EXPECT_EQ(step.relation.oid, kOrders);
  EXPECT_EQ(take(RelationMessage(kOrders, "tenant_1", "inbox", {{"id"}})).kind,
            Step::Kind::kNothing);
  // A known table under a name that matches is not new.
  EXPECT_EQ(take(RelationMessage(kOutbox, "tenant_2", "outbox",
                                 {{"id"}, {"aggregate_id"}, {"payload"}}))
                .kind,
            Step::Kind::kNothing);
  EXPECT_EQ(take(Row("1")).kind, Step::Kind::kUndeliverable);
}

}  // namespace
}  // namespace walpost
