#include "outbox/base_types.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "outbox/table_mapper.h"
#include "pgoutput/type_oid.h"
#include "support/message_bytes.h"
#include "support/message_feed.h"
#include "support/rows.h"

namespace walpost {
namespace {

using namespace testing;  // the builders of bytes

constexpr uint32_t kOutbox = 16384;
constexpr uint32_t kDomain = 16500;
constexpr Lsn kCommit(0x1000);

OutboxOptions MakeOptions() {
  OutboxOptions options;
  options.tables.resize(1);  // public.outbox
  options.route.topic = "all";
  return options;
}

std::string Described(uint32_t payload_type) {
  return RelationMessage(kOutbox, "public", "outbox",
                         {{"id"}, {"payload", payload_type}});
}

TEST(BaseTypesTest, ABuiltInTypeStandsForItself) {
  EXPECT_EQ(BaseTypes().Of(pgoutput::kJsonbOid), pgoutput::kJsonbOid);
}

TEST(BaseTypesTest, AnUnlistedTypeIsNotKnownUntilTheListIsComplete) {
  BaseTypes types;
  types.Add(kDomain, pgoutput::kByteaOid);
  EXPECT_EQ(types.Of(kDomain), pgoutput::kByteaOid);
  EXPECT_EQ(types.Of(kDomain + 1), std::nullopt);
  types.Complete();
  EXPECT_EQ(types.Of(kDomain + 1), kDroppedTypeOid);
}

class DomainsOfTheStreamTest : public ::testing::Test {
 protected:
  const Step& Row(const std::string& payload) {
    EXPECT_TRUE(feed_.Feed(BeginMessage(kCommit)).ok());
    EXPECT_TRUE(feed_.Feed(Described(kDomain)).ok());
    EXPECT_TRUE(
        feed_.Feed(InsertMessage(kOutbox, {Text("1"), Text(payload)})).ok());
    return feed_.step();
  }

  MessageFeed feed_{MakeOptions()};
};

TEST_F(DomainsOfTheStreamTest, AValueIsReadAsTheBaseType) {
  BaseTypes types;
  types.Add(kDomain, pgoutput::kByteaOid);
  feed_.assembler().SetBaseTypes(types);
  EXPECT_EQ(Row("\\x6162").event.payload, "ab");
}

TEST_F(DomainsOfTheStreamTest, ANewTypeEndsTheStream) {
  feed_.assembler().SetBaseTypes({});
  EXPECT_TRUE(feed_.Feed(BeginMessage(kCommit)).ok());
  const absl::Status status = feed_.Feed(Described(kDomain));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(feed_.assembler().unknown_type(), kDomain);
}

TEST_F(DomainsOfTheStreamTest, ATypeOfAnotherTableNeedNotBeKnown) {
  feed_.assembler().SetBaseTypes({});
  EXPECT_TRUE(feed_
                  .Feed(RelationMessage(kOutbox + 1, "public", "orders",
                                        {{"id"}, {"kind", kDomain}}))
                  .ok());
}

TEST_F(DomainsOfTheStreamTest, ADroppedTypeIsTextUnlessItMayBeBytea) {
  BaseTypes types;
  types.Complete();
  feed_.assembler().SetBaseTypes(types);
  EXPECT_EQ(Row("sad").event.payload, "sad");
  const absl::Status fed =
      feed_.Feed(InsertMessage(kOutbox, {Text("2"), Text("\\x6162")}));
  EXPECT_TRUE(fed.ok()) << fed;
  EXPECT_EQ(feed_.step().kind, Step::Kind::kUndeliverable);
}

// ---- Columns of records that Debezium's consumers know.

OutboxOptions DebeziumOptions() {
  debezium::Options records;
  records.logical_name = "srv";
  records.key_converter = debezium::Converter::kJsonSchemas;
  records.value_converter = debezium::Converter::kString;
  OutboxOptions options = MakeOptions();
  options.debezium = std::make_shared<const debezium::Options>(records);
  options.tables[0].debezium = options.debezium;
  return options;
}

class ColumnsOfTheStreamTest : public ::testing::Test {
 protected:
  absl::Status Describe(const std::string& further) {
    EXPECT_TRUE(feed_.Feed(BeginMessage(kCommit)).ok());
    return feed_.Feed(RelationMessage(
        kOutbox, "public", "outbox",
        {{"id"}, {"aggregatetype"}, {"aggregateid"}, {"payload"}, {further}}));
  }
  // The columns of the catalog, the key with NOT NULL.
  static BaseTypes Listed() {
    std::vector<pgoutput::ColumnSchema> columns(4);
    columns[0].name = "id";
    columns[1].name = "aggregatetype";
    columns[2].name = "aggregateid";
    columns[2].is_not_null = true;
    columns[3].name = "payload";
    BaseTypes types;
    types.SetColumns({columns});
    return types;
  }

  MessageFeed feed_{DebeziumOptions()};
};

TEST_F(ColumnsOfTheStreamTest, ANewColumnEndsTheStream) {
  feed_.assembler().SetBaseTypes(Listed());
  EXPECT_TRUE(absl::IsUnavailable(Describe("note")));
  EXPECT_EQ(feed_.assembler().unknown_column(), "public.outbox.note");
}

TEST_F(ColumnsOfTheStreamTest, OneThatWasAskedForHasBeenDropped) {
  feed_.assembler().SetBaseTypes(Listed());
  feed_.assembler().SetAskedColumns({"public.outbox.note"});
  EXPECT_TRUE(Describe("note").ok());
  ASSERT_TRUE(
      feed_
          .Feed(InsertMessage(kOutbox, {Text("1"), Text("order"), Text("k"),
                                        Text("p"), Text("n")}))
          .ok());
  EXPECT_EQ(feed_.step().event.aggregate_id,
            R"({"schema":{"type":"string","optional":false},"payload":"k"})");
}

TEST_F(ColumnsOfTheStreamTest, OneOfThatNameInAnotherTableWasNotAskedFor) {
  feed_.assembler().SetBaseTypes(Listed());
  feed_.assembler().SetAskedColumns({"public.other.note"});
  EXPECT_TRUE(absl::IsUnavailable(Describe("note")));
}

// ---- Columns that are not sent.

absl::Status Bind(TableOptions options, const std::string& unsent) {
  pgoutput::RelationSchema table =
      MakeTable("public", "outbox",
                {{"id"}, {"aggregate_type"}, {"payload", pgoutput::kJsonbOid}});
  std::erase_if(table.columns, [&unsent](const pgoutput::ColumnSchema& column) {
    return column.name == unsent;
  });
  table.unsent.push_back({unsent, "is virtual"});
  return TableMapper::Create(options, table, {}).status();
}

TEST(UnsentColumnTest, OneThatIsUsedByItsUsualNameIsRefused) {
  const absl::Status status = Bind({}, "aggregate_id");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(),
            "column 'aggregate_id' of public.outbox, which is used for "
            "outbox.tables.columns.aggregate_id, is virtual");
}

TEST(UnsentColumnTest, OneThatIsNotUsedIsNoMatter) {
  EXPECT_TRUE(Bind({}, "note").ok());
  TableOptions options;
  options.columns.aggregate_id.kind = FieldSource::Kind::kAbsent;
  EXPECT_TRUE(Bind(options, "aggregate_id").ok());
}

TEST(UnsentColumnTest, APayloadIsNotUsedBesideValueColumns) {
  EXPECT_FALSE(Bind({}, "payload").ok());
  TableOptions options;
  options.value_columns = {"id"};
  EXPECT_TRUE(Bind(options, "payload").ok());
  options.value_columns = {"note"};
  EXPECT_FALSE(Bind(options, "note").ok());
}

TEST(HeadersTypeTest, OneThatCannotHoldJsonIsRefused) {
  const auto bind = [](uint32_t type) {
    return TableMapper::Create(
               {},
               MakeTable("public", "outbox",
                         {{"id"}, {"payload"}, {"headers", type}}),
               {})
        .status();
  };
  for (const uint32_t type : {pgoutput::kJsonOid, pgoutput::kJsonbOid,
                              pgoutput::kTextOid, pgoutput::kByteaOid}) {
    EXPECT_TRUE(bind(type).ok()) << type;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(bind(pgoutput::kInt4Oid)));
  EXPECT_TRUE(absl::IsFailedPrecondition(bind(kDomain)));  // an enum
}

}  // namespace
}  // namespace walpost
