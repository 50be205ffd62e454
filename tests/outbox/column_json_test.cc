#include "outbox/column_json.h"

#include <gtest/gtest.h>

#include "pgoutput/type_oid.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

constexpr uint32_t kText = 25;
constexpr uint32_t kNumeric = 1700;

TEST(ColumnJsonTest, KeepsTheTypesThatJsonHas) {
  ColumnJson json;
  json.Begin();
  json.Add("small", pgoutput::kInt2Oid, "-2");
  json.Add("int", pgoutput::kInt4Oid, "7");
  json.Add("big", pgoutput::kInt8Oid, "9223372036854775807");
  json.Add("yes", pgoutput::kBoolOid, "t");
  json.Add("no", pgoutput::kBoolOid, "f");
  json.Add("doc", pgoutput::kJsonOid, R"({"b":1,  "a":[2,2.50]})");
  json.Add("docb", pgoutput::kJsonbOid, R"([1, null])");
  EXPECT_EQ(json.Finish(),
            R"({"small":-2,"int":7,"big":9223372036854775807,)"
            R"("yes":true,"no":false,"doc":{"b":1,  "a":[2,2.50]},)"
            R"("docb":[1, null]})");
}

TEST(ColumnJsonTest, EverythingElseIsAString) {
  ColumnJson json;
  json.Begin();
  json.Add("text", kText, "Zoë \"quoted\"\n\\\x01");
  json.Add("numeric", kNumeric, "NaN");
  json.Add("uuid", 2950, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
  EXPECT_EQ(json.Finish(),
            R"({"text":"Zoë \"quoted\"\n\\\u0001","numeric":"NaN",)"
            R"("uuid":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"})");
}

TEST(ColumnJsonTest, NullIsNullWhateverTheType) {
  ColumnJson json;
  json.Begin();
  for (const uint32_t type :
       {kText, pgoutput::kInt4Oid, pgoutput::kBoolOid, pgoutput::kJsonbOid}) {
    json.Add("c", type, std::nullopt);
  }
  json.Add("empty", kText, "");
  EXPECT_EQ(json.Finish(),
            R"({"c":null,"c":null,"c":null,"c":null,"empty":""})");
}

TEST(ColumnJsonTest, NamesAreEscaped) {
  ColumnJson json;
  json.Begin();
  json.Add("a \"b\"\\", kText, "x");
  EXPECT_EQ(json.Finish(), R"({"a \"b\"\\":"x"})");
}

TEST(ColumnJsonTest, BeginsAnew) {
  ColumnJson json;
  json.Begin();
  json.Add("a", kText, "x");
  json.Finish();
  json.Begin();
  EXPECT_EQ(json.Finish(), "{}");
  json.Begin();
  json.Add("b", kText, "y");
  EXPECT_EQ(json.Finish(), R"({"b":"y"})");
}

}  // namespace
}  // namespace walpost
