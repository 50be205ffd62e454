#include "debezium/row_encoder.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gtest/gtest.h"

namespace walpost::debezium {
namespace {

Column TextColumn(const std::string& name) {
  Column column;
  column.name = name;
  column.type_oid = 25;
  return column;
}

TEST(RowEncoderTest, TextIsItsOwnBytesAsAString) {
  Options options;
  options.key_converter = options.value_converter = Converter::kString;
  Table table;
  table.columns = {TextColumn("id"), TextColumn("payload")};
  Fields fields;
  fields.id = 0;
  fields.payload = 1;
  const auto encoder = RowEncoder::Create(options, table, fields);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  const Text row[] = {"1", "plain text"};
  Encoded encoded;
  ASSERT_TRUE((*encoder)->Encode(row, encoded).ok());
  EXPECT_EQ(encoded.key, std::nullopt);
  EXPECT_EQ(encoded.value, "plain text");
  ASSERT_EQ(encoded.headers.size(), 1u);
  EXPECT_EQ(encoded.headers[0].value, "1");
}

TEST(RowEncoderTest, ErrorsNameColumnCauseAndRemedy) {
  Options options;
  options.value_converter = Converter::kString;
  Table table;
  table.columns = {TextColumn("id"), TextColumn("payload")};
  table.columns[1].type_oid = 17;  // bytea
  Fields fields;
  fields.id = 0;
  fields.payload = 1;
  const auto encoder = RowEncoder::Create(options, table, fields);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  const Text row[] = {"1", "\\x00"};
  Encoded encoded;
  const absl::Status status = (*encoder)->Encode(row, encoded);
  EXPECT_EQ(std::string(status.message()),
            "column 'payload': as value, bytes have no text: Java's differs "
            "from run to run: set the converter json, or, for a column of "
            "bytes, bytes");
}

TEST(RowEncoderTest, AColumnWithoutValueIsRejectedWithItsKey) {
  Table table;
  table.columns = {TextColumn("id"), TextColumn("payload")};
  table.columns[1].type_oid = 3615;  // tsquery
  Fields fields;
  fields.payload = 1;
  const auto encoder = RowEncoder::Create(Options(), table, fields);
  EXPECT_TRUE(absl::IsFailedPrecondition(encoder.status()));
  const std::string message(encoder.status().message());
  EXPECT_NE(message.find("outbox.tables.columns.payload"), message.npos);
  EXPECT_NE(message.find("column 'payload'"), message.npos);
}

TEST(RowEncoderTest, TheRemedyIsUnknownTypesOnlyWhereItHelps) {
  Table table;
  table.columns = {TextColumn("payload")};
  Fields fields;
  fields.payload = 0;
  for (const auto& [element_oid, helps] :
       {std::pair(3615u, true), std::pair(142u, false)}) {
    table.columns[0].element_oid = element_oid;
    const auto encoder = RowEncoder::Create(Options(), table, fields);
    EXPECT_EQ(encoder.status().message().find("records.unknown_types: true") !=
                  std::string_view::npos,
              helps)
        << encoder.status();
  }
}

TEST(RowEncoderTest, AColumnThatCannotBeMadeIsRejectedEvenIfItMayBeMissing) {
  Options options;
  options.missing_columns = MissingColumns::kIgnore;
  options.unknown_types = true;
  options.placements = {{"v", Placement::Place::kHeader, ""}};
  Table table;
  table.columns = {TextColumn("payload"), TextColumn("v")};
  Fields fields;
  fields.payload = 0;
  table.columns[1].type_name = "sparsevec";
  auto encoder = RowEncoder::Create(options, table, fields);
  EXPECT_TRUE(absl::IsFailedPrecondition(encoder.status()));
  EXPECT_EQ(encoder.status().message(),
            "records.placements: walpost cannot make what Debezium makes of "
            "the type of column 'v': map a column of another type, or leave it "
            "out of records.placements");
  for (const uint32_t element_oid : {600u, 142u}) {  // left out by Debezium
    table.columns[1] = TextColumn("v");
    table.columns[1].element_oid = element_oid;
    encoder = RowEncoder::Create(options, table, fields);
    EXPECT_TRUE(encoder.ok()) << encoder.status();
  }
}

TEST(RowEncoderTest, ARowAfterAFailureIsWhole) {
  Options options;
  options.value_converter = Converter::kJson;
  options.expand_json = true;
  Table table;
  table.columns = {TextColumn("id"), TextColumn("payload")};
  Fields fields;
  fields.id = 0;
  fields.payload = 1;
  const auto encoder = RowEncoder::Create(options, table, fields);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  Encoded encoded;
  const Text poison[] = {"1", "[1]"};
  EXPECT_FALSE((*encoder)->Encode(poison, encoded).ok());
  const Text row[] = {"2", R"({"a":1})"};
  ASSERT_TRUE((*encoder)->Encode(row, encoded).ok());
  EXPECT_EQ(encoded.value, R"({"a":1})");
  EXPECT_EQ(encoded.headers.size(), 1u);
}

TEST(RowEncoderTest, TheEnvelopeIsNamedByTheRouteOfItsOwnRow) {
  Options options;
  options.logical_name = "srv";
  options.placements = {{"id", Placement::Place::kEnvelope, ""}};
  Table table;
  table.schema = "ob";
  table.name = "out box";
  table.columns = {TextColumn("id"), TextColumn("type"), TextColumn("payload")};
  Fields fields;
  fields.route = 1;
  fields.payload = 2;
  const auto encoder = RowEncoder::Create(options, table, fields);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  for (const char* route : {"order", "invoice", "order"}) {
    const Text row[] = {"1", route, "p"};
    Encoded encoded;
    ASSERT_TRUE((*encoder)->Encode(row, encoded).ok());
    const std::string name =
        "\"name\":\"srv.ob.out_box." + std::string(route) + ".Value\"";
    EXPECT_NE(encoded.value->find(name), std::string_view::npos)
        << *encoded.value;
  }
}

}  // namespace
}  // namespace walpost::debezium
