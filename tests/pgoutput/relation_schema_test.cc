#include "pgoutput/relation_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "pgoutput/decoder.h"
#include "support/message_bytes.h"

namespace walpost::pgoutput {
namespace {

using walpost::testing::ColumnSpec;

RelationSchema SchemaOf(std::string_view schema, std::string_view name,
                        const std::vector<ColumnSpec>& columns) {
  // The schema outlives these bytes, as it must.
  const std::string bytes =
      walpost::testing::RelationMessage(16384, schema, name, columns);
  return RelationSchema(std::get<Relation>(*Decode(bytes)));
}

TEST(RelationSchemaTest, OwnsWhatTheMessageSaid) {
  const RelationSchema schema =
      SchemaOf("public", "outbox", {{"id", 20}, {"payload", 3802}});
  EXPECT_EQ(schema.oid, 16384u);
  EXPECT_EQ(schema.QualifiedName(), "public.outbox");
  EXPECT_EQ(schema.columns,
            (std::vector<ColumnSchema>{{"id", 20}, {"payload", 3802}}));
}

TEST(RelationSchemaTest, EmptySchemaIsPgCatalog) {
  EXPECT_EQ(SchemaOf("", "pg_class", {}).QualifiedName(),
            "pg_catalog.pg_class");
}

TEST(RelationSchemaTest, FindsColumnsByTheirExactName) {
  const RelationSchema schema = SchemaOf("s", "t", {{"id"}, {"Id"}, {"ID "}});
  EXPECT_EQ(schema.FindColumn("id"), 0u);
  EXPECT_EQ(schema.FindColumn("Id"), 1u);
  EXPECT_EQ(schema.FindColumn("ID"), std::nullopt);
  EXPECT_EQ(schema.FindColumn(""), std::nullopt);
}

TEST(RelationSchemaTest, EqualsOnlyTheSameDescription) {
  const RelationSchema schema = SchemaOf("s", "t", {{"a", 25}, {"b", 25}});
  EXPECT_EQ(schema, SchemaOf("s", "t", {{"a", 25}, {"b", 25}}));
  EXPECT_NE(schema, SchemaOf("s", "u", {{"a", 25}, {"b", 25}})) << "renamed";
  EXPECT_NE(schema, SchemaOf("s", "t", {{"b", 25}, {"a", 25}})) << "reordered";
  EXPECT_NE(schema, SchemaOf("s", "t", {{"a", 17}, {"b", 25}})) << "retyped";
  EXPECT_NE(schema, SchemaOf("s", "t", {{"a", 25}})) << "a column dropped";
}

}  // namespace
}  // namespace walpost::pgoutput
