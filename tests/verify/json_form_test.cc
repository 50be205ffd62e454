#include "verify/json_form.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

using debezium::Converter;
using debezium::Options;

struct Pair {
  const char* row;
  const char* record;
};

void ExpectEqual(const JsonForm& form, const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    EXPECT_EQ(form.OfRow(pair.row), form.OfRecord(pair.record))
        << pair.row << " and " << pair.record;
  }
}

void ExpectUnequal(const JsonForm& form, const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    EXPECT_NE(form.OfRow(pair.row), form.OfRecord(pair.record))
        << pair.row << " and " << pair.record;
  }
}

JsonForm FormOf(Converter converter, bool expand = false,
                bool tombstone = false) {
  Options options;
  options.value_converter = converter;
  options.expand_json = expand;
  options.tombstone_on_empty = tombstone;
  return JsonForm::OfValues(options);
}

TEST(JsonFormTest, TheSameJsonIsTheSame) {
  ExpectEqual({},
              {{R"({"a": 1, "b": [true, null]})", R"({"b":[true,null],"a":1})"},
               {R"({"a": 1.0})", R"({"a":1})"},
               {R"({"a": 1.10e3})", R"({"a":1100})"},
               {R"({"a": -0.0})", R"({"a":0})"},
               {R"({"a": 0.0001})", R"({"a":1E-4})"},
               {R"("é")", "\"\\u00e9\""},
               {R"({"a": 1, "a": 2})", R"({"a":2})"},
               {"[]", "[ ]"},
               {" 42 ", "42"},
               {"null", "null"}});
}

TEST(JsonFormTest, OtherJsonIsNot) {
  ExpectUnequal({}, {{R"({"a":1})", R"({"a":"1"})"},
                     {R"({"a":1})", R"({"a":1,"b":null})"},
                     {R"({"a":[]})", "{}"},
                     {"[1,2]", "[2,1]"},
                     {"[1,2]", "[12]"},
                     {"42", R"("42")"},
                     {"null", R"("null")"},
                     {"1e400", "1e401"},
                     {"0.1", "0.1000000000000000055511151231257827"},
                     {"12345678901234567890", "12345678901234567891"},
                     {R"({"a,b":1})", R"({"a":1})"}});
  EXPECT_NE(JsonForm().OfRow("null"), JsonForm().OfRow(std::nullopt));
}

TEST(JsonFormTest, WhatIsNotJsonIsItself) {
  ExpectEqual({}, {{"order-1", "order-1"}, {"", ""}, {"{\"a\":", "{\"a\":"}});
  ExpectUnequal({}, {{"order-1", "order-2"},
                     {"{\"a\": ", "{\"a\":"},
                     {"{} {}", "{}"},
                     {"\xff", "\xfe"}});
  const std::string depth(1'000'000, '[');
  EXPECT_EQ(JsonForm().OfRow(depth), depth);
}

TEST(JsonFormTest, ADeepValueNeedsNoStack) {
  constexpr size_t kDepth = 100'000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  EXPECT_EQ(JsonForm().OfRow(deep), JsonForm().OfRecord(deep + " "));
}

TEST(JsonFormTest, AnExponentThatNobodyReadsIsAText) {
  ExpectUnequal({}, {{"1e99999999999999999999", "1e99999999999999999998"}});
  ExpectEqual({}, {{"1e99999999999999999999", "1e99999999999999999999"}});
}

TEST(JsonFormTest, ATextMayBeAJsonString) {
  ExpectEqual(FormOf(Converter::kJson),
              {{"order-1", R"("order-1")"},
               {"42", R"("42")"},
               {"42", "42"},  // of a column of integers
               {R"({"a": 1})", R"("{\"a\": 1}")"},
               {R"("x")", R"("\"x\"")"},
               {"null", R"("null")"}});
  ExpectUnequal(FormOf(Converter::kJson),
                {{"order-1", R"("order-2")"}, {"null", "null"}});
  EXPECT_EQ(FormOf(Converter::kJson).OfRecord("null"), std::nullopt);
}

TEST(JsonFormTest, ARecordMayBringItsSchema) {
  ExpectEqual(
      FormOf(Converter::kJsonSchemas),
      {{"order-1",
        R"({"schema":{"type":"string","optional":false},"payload":"order-1"})"},
       {R"({"a": 1})",
        R"({"schema":{"type":"string"},"payload":"{\"a\": 1}"})"},
       {R"({"a": null})", R"({"schema":{},"payload":{"a":null}})"},
       {R"({"schema":1,"payload":2})",
        R"({"schema":{},"payload":"{\"schema\":1,\"payload\":2}"})"}});
  EXPECT_EQ(FormOf(Converter::kJsonSchemas)
                .OfRecord(R"({"schema":null,"payload":null})"),
            std::nullopt);
  ExpectUnequal(FormOf(Converter::kJson),
                {{"1", R"({"schema":{},"payload":1})"}});
}

TEST(JsonFormTest, AnExpandedPayloadHasNumbersOfJava) {
  const JsonForm form = FormOf(Converter::kJson, true);
  ExpectEqual(
      form,
      {{R"({"a":1.10})", R"({"a":1.1})"},
       {R"({"a":12345678901234567890})", R"({"a":1.2345678901234567E19})"},
       {R"({"a":9223372036854775807})", R"({"a":9223372036854775807})"},
       {R"({"a":0.1000000000000000055})", R"({"a":0.1})"},
       {R"({"a":null,"b":[],"c":[null]})", R"({"c":[null]})"},
       {R"([{"a":1},{"b":2}])", R"([{"a":1,"b":null},{"a":null,"b":2}])"}});
  ExpectUnequal(
      form, {{R"({"a":9223372036854775807})", R"({"a":9223372036854775806})"},
             {R"({"a":1})", R"({"a":2})"},
             {R"({"a":1,"a":null})", R"({"a":1})"}});
}

TEST(JsonFormTest, AnEmptyPayloadMayBeATombstone) {
  const JsonForm form = FormOf(Converter::kJson, false, true);
  EXPECT_EQ(form.OfRow(" \t"), std::nullopt);
  EXPECT_EQ(form.OfRow(""), form.OfRecord(std::nullopt));
  EXPECT_NE(FormOf(Converter::kJson).OfRow(""), std::nullopt);
}

TEST(JsonFormTest, OnlySomeConvertersKeepTheBytesOfAKey) {
  for (const auto& [name, converter] : debezium::kConverters) {
    Options options;
    options.key_converter = converter;
    EXPECT_EQ(JsonForm::OfKeys(options).keeps_bytes(),
              name.find("json") == std::string_view::npos)
        << name;
  }
}

}  // namespace
}  // namespace walpost
