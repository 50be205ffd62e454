#include "outbox/table_mapper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/reason_code.h"
#include "pgoutput/type_oid.h"
#include "rapidjson/reader.h"
#include "support/rows.h"

namespace walpost {
namespace {

using testing::Binary;
using testing::Cells;
using testing::ColumnSpec;
using testing::MakeTable;
using testing::Null;
using testing::OwnedRow;
using testing::Text;
using testing::Unchanged;
using std::literals::operator""sv;
using Names = std::vector<std::string>;

constexpr uint32_t kJsonb = pgoutput::kJsonbOid;
constexpr uint32_t kBytea = pgoutput::kByteaOid;
constexpr uint32_t kUuid = 2950;

FieldSource Column(std::string name) {
  return {FieldSource::Kind::kColumn, std::move(name)};
}
FieldSource Constant(std::string text) {
  return {FieldSource::Kind::kConstant, std::move(text)};
}
FieldSource Absent() { return {FieldSource::Kind::kAbsent, {}}; }

const std::vector<ColumnSpec> kUsualColumns = {
    {"id", kUuid}, {"aggregate_type"},  {"aggregate_id"},
    {"type"},      {"payload", kJsonb}, {"headers", kJsonb}};

// Most tables here are about other fields: one without a column for the
// payload says so, as it must.
absl::StatusOr<std::unique_ptr<TableMapper>> Create(
    TableOptions options, const std::vector<ColumnSpec>& columns,
    const Names& references) {
  const auto is_payload = [](const ColumnSpec& column) {
    return column.name == "payload";
  };
  if (std::ranges::none_of(columns, is_payload)) {
    options.columns.payload = Absent();
  }
  return TableMapper::Create(options, MakeTable("public", "outbox", columns),
                             references);
}

std::unique_ptr<TableMapper> MustCreate(const TableOptions& options,
                                        const std::vector<ColumnSpec>& columns,
                                        const Names& references = {}) {
  auto mapper = Create(options, columns, references);
  EXPECT_TRUE(mapper.ok()) << mapper.status();
  return *std::move(mapper);
}

std::string RefusalOf(const TableOptions& options,
                      const std::vector<ColumnSpec>& columns,
                      const Names& references = {}) {
  const auto mapper = Create(options, columns, references);
  EXPECT_TRUE(absl::IsFailedPrecondition(mapper.status())) << mapper.status();
  return std::string(mapper.status().message());
}

// ---- Which column is which field.

TEST(TableMapperTest, FindsTheUsualNames) {
  const auto mapper = MustCreate({}, kUsualColumns);
  const OwnedRow row({Text("1"), Text("order"), Text("42"), Text("Placed"),
                      Text(R"({"n": 1})"), Text("{}")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.id, "1");
  EXPECT_EQ(event.aggregate_type, "order");
  EXPECT_EQ(event.aggregate_id, "42");
  EXPECT_EQ(event.type, "Placed");
  EXPECT_EQ(event.payload, R"({"n": 1})");
  EXPECT_EQ(event.headers, "{}");
}

TEST(TableMapperTest, FindsDebeziumsSpelling) {
  const auto mapper = MustCreate(
      {}, {{"payload"}, {"aggregateid"}, {"aggregatetype"}, {"id"}, {"type"}});
  const OwnedRow row(
      {Text("p"), Text("42"), Text("order"), Text("1"), Text("Placed")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.aggregate_type, "order");
  EXPECT_EQ(event.aggregate_id, "42");
  EXPECT_EQ(event.type, "Placed");
}

TEST(TableMapperTest, TakesEventTypeForTheType) {
  const auto mapper = MustCreate({}, {{"event_type"}});
  const OwnedRow row({Text("OrderPlaced")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.type, "OrderPlaced");
}

TEST(TableMapperTest, PrefersTheFirstOfTheUsualNames) {
  const auto mapper = MustCreate(
      {}, {{"event_type"}, {"aggregateid"}, {"type"}, {"aggregate_id"}});
  const OwnedRow row({Text("no"), Text("no"), Text("yes"), Text("yes")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.type, "yes");
  EXPECT_EQ(event.aggregate_id, "yes");
}

TEST(TableMapperTest, FieldsWithoutAColumnAreNull) {
  const auto mapper = MustCreate({}, {{"something"}});
  const OwnedRow row({Text("else")});
  Event event;
  event.id = "of the last event";
  event.headers = "of the last event";
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.id, std::nullopt);
  EXPECT_EQ(event.aggregate_type, std::nullopt);
  EXPECT_EQ(event.aggregate_id, std::nullopt);
  EXPECT_EQ(event.type, std::nullopt);
  EXPECT_EQ(event.payload, std::nullopt);
  EXPECT_EQ(event.headers, std::nullopt);
}

TEST(TableMapperTest, AFieldIsAColumnAConstantOrAbsent) {
  TableOptions options;
  options.columns.id = Column("number");
  options.columns.aggregate_type = Constant("order");
  options.columns.aggregate_id = Absent();
  const auto mapper =
      MustCreate(options, {{"id"}, {"number"}, {"aggregate_id"}});
  const OwnedRow row({Text("1"), Text("2"), Text("3")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.id, "2");
  EXPECT_EQ(event.aggregate_type, "order");
  EXPECT_EQ(event.aggregate_id, std::nullopt);
}

TEST(TableMapperTest, OneColumnMayBeSeveralFields) {
  TableOptions options;
  options.columns.aggregate_type = Column("task_type");
  options.columns.type = Column("task_type");
  const auto mapper = MustCreate(options, {{"task_type"}});
  const OwnedRow row({Text("mail")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.aggregate_type, "mail");
  EXPECT_EQ(event.type, "mail");
}

TEST(TableMapperTest, ColumnsMayHaveAnyName) {
  TableOptions options;
  options.columns.id = Column("Id");
  options.columns.aggregate_type = Column("Aggregate Type");
  const auto mapper = MustCreate(options, {{"Id"}, {"Aggregate Type"}});
  const OwnedRow row({Text("1"), Text("order")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.id, "1");
  EXPECT_EQ(event.aggregate_type, "order");
}

TEST(TableMapperTest, AMissingColumnIsNamedWithTableAndKey) {
  TableOptions options;
  options.columns.aggregate_id = Column("order_id");
  EXPECT_EQ(RefusalOf(options, kUsualColumns),
            "table public.outbox has no published column 'order_id', which "
            "outbox.tables.columns.aggregate_id names: correct the "
            "configuration, or add the column to the table or the publication");
}

TEST(TableMapperTest, ATableWithoutAPayloadIsRefusedUnlessThatIsMeant) {
  const auto mapper = TableMapper::Create(
      {}, MakeTable("public", "outbox", {{"id"}, {"body"}}), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(mapper.status()));
  EXPECT_EQ(std::string(mapper.status().message()),
            "table public.outbox has no column 'payload': set "
            "outbox.tables.columns.payload (a column, {constant: ...} or null) "
            "or outbox.tables.value.columns");
}

TEST(TableMapperTest, AMissingValueColumnIsNamedWithItsKey) {
  TableOptions options;
  options.value_columns = {"id", "table_id"};
  const std::string message = RefusalOf(options, kUsualColumns);
  EXPECT_NE(message.find("'table_id', which outbox.tables.value.columns"),
            std::string::npos)
      << message;
}

TEST(TableMapperTest, HasAKeyWhenAggregateIdIsMapped) {
  EXPECT_TRUE(MustCreate({}, kUsualColumns)->has_key());
  EXPECT_FALSE(MustCreate({}, {{"id"}})->has_key());
  TableOptions options;
  options.columns.aggregate_id = Constant("all");
  EXPECT_TRUE(MustCreate(options, {{"id"}})->has_key());
  options.columns.aggregate_id = Absent();
  EXPECT_FALSE(MustCreate(options, kUsualColumns)->has_key());
}

// ---- Values.

TEST(TableMapperTest, NullIsNotTheEmptyText) {
  const auto mapper = MustCreate({}, kUsualColumns);
  const OwnedRow row({Null(), Text(""), Text(""), Null(), Text(""), Null()});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.id, std::nullopt);
  EXPECT_EQ(event.aggregate_type, "");
  EXPECT_EQ(event.aggregate_id, "");
  EXPECT_EQ(event.type, std::nullopt);
  EXPECT_EQ(event.payload, "");
}

TEST(TableMapperTest, NothingOfTheLastRowStays) {
  const auto mapper = MustCreate({}, {{"id"}, {"payload", kBytea}});
  const OwnedRow first({Text("1"), Text("\\x0102")});
  const OwnedRow second({Null(), Null()});
  Event event;
  ASSERT_TRUE(mapper->Map(first.row(), event).ok());
  ASSERT_TRUE(mapper->Map(second.row(), event).ok());
  EXPECT_EQ(event.id, std::nullopt);
  EXPECT_EQ(event.payload, std::nullopt);
}

TEST(TableMapperTest, ByteaBecomesItsBytes) {
  const auto mapper = MustCreate(
      {}, {{"aggregate_id", kBytea}, {"payload", kBytea}, {"type", kBytea}});
  const OwnedRow row({Text("\\x"), Text("\\x00ff5c0a"), Null()});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.aggregate_id, "");
  EXPECT_EQ(event.payload, "\0\xff\\\n"sv);
  EXPECT_EQ(event.type, std::nullopt);
}

TEST(TableMapperTest, ByteaInEscapeFormCannotBeDeliveredAndNamesTheColumn) {
  const auto mapper = MustCreate({}, {{"payload", kBytea}});
  const OwnedRow row({Text("abc\\000")});
  Event event;
  const absl::Status status = mapper->Map(row.row(), event);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(std::string(status.message()),
            "column 'payload' of public.outbox: bytea is not in hex form");
}

TEST(TableMapperTest, TextThatLooksLikeByteaStays) {
  const auto mapper = MustCreate({}, {{"payload"}});
  const OwnedRow row({Text("\\x00")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.payload, "\\x00");
}

TEST(TableMapperTest, ARowOfAnotherShapeIsDataLoss) {
  const auto mapper = MustCreate({}, {{"id"}, {"payload"}});
  for (const Cells& cells :
       {Cells{}, Cells{Text("1")}, Cells{Text("1"), Text("2"), Text("3")},
        Cells{Text("1"), Unchanged()}, Cells{Binary("1"), Text("2")}}) {
    const OwnedRow row(cells);
    Event event;
    const absl::Status status = mapper->Map(row.row(), event);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(std::string(status.message()).find("public.outbox"),
              std::string::npos)
        << status;
  }
}

// ---- Timestamps.

WallTime CommitTime() {
  return std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
}

TEST(TableMapperTest, RecordsCarryTheCommitTimeByDefault) {
  // Although there is a column of that name: clocks of writers disagree.
  const auto mapper =
      MustCreate({}, {{"timestamp", pgoutput::kTimestamptzOid}});
  const OwnedRow row({Text("2024-01-02 00:00:00+00")});
  Event event;
  event.commit_time = CommitTime();
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.timestamp, CommitTime());
}

TEST(TableMapperTest, RecordsCarryTheMappedTimestamp) {
  TableOptions options;
  options.columns.timestamp = Column("created_at");
  const auto mapper =
      MustCreate(options, {{"created_at", pgoutput::kTimestamptzOid}});
  Event event;
  event.commit_time = CommitTime();
  const OwnedRow row({Text("2024-01-02 00:00:00.25+00")});
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.timestamp,
            std::chrono::sys_days(std::chrono::year(2024) / 1 / 2) +
                std::chrono::milliseconds(250));
  const OwnedRow null({Null()});
  ASSERT_TRUE(mapper->Map(null.row(), event).ok());
  EXPECT_EQ(event.timestamp, CommitTime()) << "NULL: the commit time";
}

TEST(TableMapperTest, ATimestampOutOfRangeCannotBeDelivered) {
  TableOptions options;
  options.columns.timestamp = Column("at");
  const auto mapper = MustCreate(options, {{"at", pgoutput::kTimestamptzOid}});
  const OwnedRow row({Text("infinity")});
  Event event;
  const absl::Status status = mapper->Map(row.row(), event);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(std::string(status.message())
                .find("column 'at' of public.outbox: 'infinity'"),
            std::string::npos)
      << status;
}

TEST(TableMapperTest, ATimestampColumnOfAnotherTypeIsRefusedAtOnce) {
  TableOptions options;
  options.columns.timestamp = Column("at");
  const std::string message = RefusalOf(options, {{"at", 1082}});
  EXPECT_NE(message.find("column 'at' of public.outbox"), std::string::npos)
      << message;
}

// ---- Reference rows.

TEST(TableMapperTest, ValueColumnsBecomeAJsonObject) {
  TableOptions options;
  options.value_columns = {"table_name", "table_id", "note"};
  const auto mapper = MustCreate(options, {{"id", pgoutput::kInt8Oid},
                                           {"table_id", pgoutput::kInt8Oid},
                                           {"table_name"},
                                           {"note"},
                                           {"payload"}});
  const OwnedRow row(
      {Text("1"), Text("77"), Text("orders"), Null(), Text("unused")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.payload,
            R"({"table_name":"orders","table_id":77,"note":null})");
}

TEST(TableMapperTest, ByteaAmongTheValueColumnsIsTheTextThatTheServerRenders) {
  TableOptions options;
  options.value_columns = {"hash"};
  const auto mapper = MustCreate(options, {{"hash", kBytea}});
  const OwnedRow row({Text("\\x00ff")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.payload, R"({"hash":"\\x00ff"})");
}

// ---- References of the route.

std::vector<Value> ReferencesOf(TableMapper& mapper, const OwnedRow& row) {
  Event event;
  EXPECT_TRUE(mapper.Map(row.row(), event).ok());
  return {event.references.begin(), event.references.end()};
}

TEST(TableMapperTest, ReferencesAreFieldsOrColumnsInOrder) {
  TableOptions options;
  options.columns.aggregate_type = Column("kind");
  const auto mapper = MustCreate(options, {{"id"}, {"kind"}, {"region"}},
                                 {"region", "aggregate_type", "kind", "id"});
  const OwnedRow row({Text("1"), Text("order"), Null()});
  EXPECT_EQ(ReferencesOf(*mapper, row),
            (std::vector<Value>{std::nullopt, "order", "order", "1"}));
}

TEST(TableMapperTest, AReferenceToAConstantFieldIsTheConstant) {
  TableOptions options;
  options.columns.aggregate_type = Constant("order");
  const auto mapper =
      MustCreate(options, {{"aggregate_type"}, {"id"}}, {"aggregate_type"});
  const OwnedRow row({Text("cart"), Text("1")});
  EXPECT_EQ(ReferencesOf(*mapper, row), (std::vector<Value>{"order"}));
}

TEST(TableMapperTest, AReferenceToNothingSaysWhatToSet) {
  EXPECT_EQ(RefusalOf({}, {{"id"}}, {"aggregate_type"}),
            "the route refers to 'aggregate_type', but table public.outbox has "
            "no column for it: set outbox.tables.columns.aggregate_type (a "
            "column, or {constant: ...})");
  const std::string message = RefusalOf({}, {{"id"}}, {"region"});
  EXPECT_NE(message.find("no published column 'region', which the route"),
            std::string::npos)
      << message;
}

// ---- A database that holds any bytes.

TEST(TableMapperTest, ATextThatIsNotUtf8NamesItsColumnWhereThatIsRequired) {
  const std::vector<ColumnSpec> columns = {
      {"id", kUuid}, {"payload"}, {"raw", kBytea}, {"note"}};
  const auto map = [&](const Cells& cells, bool requires_utf8) {
    const auto mapper = MustCreate({}, columns);
    if (requires_utf8) mapper->RequireUtf8();
    const OwnedRow row(cells);
    Event event;
    const absl::Status status = mapper->Map(row.row(), event);
    EXPECT_EQ(event.id, "7");
    return status;
  };
  const Cells bad = {Text("7"), Text("caf\xe9"), Null(), Null()};
  const Cells unused = {Text("7"), Text("café"), Text("\\xe9"),
                        Text("caf\xe9")};
  EXPECT_TRUE(map(bad, false).ok());
  EXPECT_TRUE(map(unused, true).ok());
  const absl::Status status = map(bad, true);
  EXPECT_EQ(ReasonCodeOf(status), kReasonTextNotUtf8);
  EXPECT_NE(std::string(status.message()).find("'payload'"), std::string::npos);
}

TEST(TableMapperTest, ATextAmongTheValueColumnsMustBeUtf8Too) {
  TableOptions options;
  options.value_columns = {"note"};
  const auto mapper = MustCreate(options, {{"id", kUuid}, {"note"}});
  mapper->RequireUtf8();
  const OwnedRow row({Text("7"), Text("caf\xe9")});
  Event event;
  const absl::Status status = mapper->Map(row.row(), event);
  EXPECT_EQ(ReasonCodeOf(status), kReasonTextNotUtf8);
  EXPECT_NE(std::string(status.message()).find("'note'"), std::string::npos);
}

// ---- As Debezium makes them.

TableOptions AsDebezium(debezium::Options records = {}) {
  TableOptions options;
  records.logical_name = "srv";
  options.debezium =
      std::make_shared<const debezium::Options>(std::move(records));
  return options;
}

TEST(TableMapperTest, ForDebeziumAFieldWithoutAColumnIsRefusedUnlessItIsMeant) {
  const std::vector<ColumnSpec> columns = {
      {"id"}, {"aggregatetype"}, {"payload"}};
  EXPECT_EQ(RefusalOf(AsDebezium(), columns),
            "table public.outbox has no column 'aggregateid', which records "
            "with records.profile: debezium are made from: set "
            "outbox.tables.columns.aggregate_id (a column, or null)");
  TableOptions options = AsDebezium();
  options.columns.aggregate_id = Absent();
  EXPECT_TRUE(Create(options, columns, {}).ok());
}

TEST(TableMapperTest, ForDebeziumAPartitionThatIsMissingMayBeIgnored) {
  const std::vector<ColumnSpec> columns = {
      {"id"}, {"aggregatetype"}, {"aggregateid"}, {"payload"}};
  debezium::Options records;
  records.placements = {{"p", debezium::Placement::Place::kPartition, "p"}};
  EXPECT_FALSE(Create(AsDebezium(records), columns, {"p"}).ok());
  records.missing_columns = debezium::MissingColumns::kIgnore;
  const auto mapper = MustCreate(AsDebezium(records), columns, {"p"});
  const OwnedRow row({Text("1"), Text("order"), Text("42"), Text("x")});
  Event event;
  ASSERT_TRUE(mapper->Map(row.row(), event).ok());
  EXPECT_EQ(event.references.front(), std::nullopt);
}

}  // namespace
}  // namespace walpost
