#include "debezium/row_encoder.h"

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

}  // namespace
}  // namespace walpost::debezium
