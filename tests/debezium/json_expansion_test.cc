#include "debezium/json_expansion.h"

#include <string>

#include "debezium/json_converter.h"
#include "gtest/gtest.h"

namespace walpost::debezium {
namespace {

using Outcome = JsonExpansion::Result::Outcome;

Outcome OutcomeOf(std::string_view text) {
  TextArena arena;
  const JsonExpansion expansion(JsonNulls::kIgnore, JsonEmptyArrays::kIgnore);
  return expansion.Expand(text, "payload", arena).outcome;
}

std::string JsonOf(std::string_view text) {
  TextArena arena;
  const JsonExpansion expansion(JsonNulls::kIgnore, JsonEmptyArrays::kIgnore);
  const auto result = expansion.Expand(text, "payload", arena);
  if (result.outcome != Outcome::kExpanded) return result.failure.ToString();
  const JsonConverter converter(JsonConverter::Schemas::kLeftOut,
                                JsonDecimals::kBase64, true);
  std::string json;
  const absl::Status status =
      converter.Append({result.schema.get(), &result.value}, json);
  return status.ok() ? json : status.ToString();
}

std::string Repeated(std::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST(JsonExpansionTest, OnlyStrictJsonIsRead) {
  for (const char* text : {"{\"a\":1",
                           "{\"a\":01}",
                           "{'a':1}",
                           "{\"a\":NaN}",
                           "{\"a\":1,}",
                           "{\"a\":+1}",
                           "{\"a\":.5}",
                           "{\"a\":1.}",
                           "{\"a\":1e}",
                           "{\"a\"1}",
                           "{a:1}",
                           "[1,]",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12g4\"}",
                           "{\"a\":\"",
                           "{\"a\":\"\\",
                           "[",
                           "{",
                           "[tru]",
                           "[truex]",
                           "[-]"}) {
    EXPECT_EQ(OutcomeOf(text), Outcome::kNotInferred) << text;
  }
}

TEST(JsonExpansionTest, EveryBeginOfATextIsRejected) {
  const std::string text =
      R"({"a":[1.5e3,-2.5,null],"b":{"c":"\u00e9\ud83d\ude00\n","d":true}})";
  ASSERT_EQ(OutcomeOf(text), Outcome::kExpanded);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(OutcomeOf(text.substr(0, length)), Outcome::kNotInferred)
        << length;
  }
}

TEST(JsonExpansionTest, ANameThatOccursTwiceHasItsLastValueInItsFirstPlace) {
  EXPECT_EQ(JsonOf(R"({"a":1,"b":2,"a":"dup"})"), R"({"a":"dup","b":2})");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"m" + std::to_string(i) + "\":1,";
  EXPECT_EQ(JsonOf(many + "\"m0\":2}").substr(0, 16), R"({"m0":2,"m1":1,")");
}

TEST(JsonExpansionTest, NestingHasTheLimitOfJackson) {
  EXPECT_EQ(JsonOf(Repeated("{\"a\":", 999) + "{}" + Repeated("}", 999)).size(),
            999u * 6 + 2);
  EXPECT_EQ(OutcomeOf(Repeated("{\"a\":", 1'000) + "{}" + Repeated("}", 1'000)),
            Outcome::kNotInferred);
}

TEST(JsonExpansionTest, NumbersHaveTheLimitOfJackson) {
  EXPECT_EQ(OutcomeOf("{\"a\":1" + Repeated("0", 999) + "}"),
            Outcome::kNotConverted);
  EXPECT_EQ(OutcomeOf("{\"a\":1" + Repeated("0", 1'000) + "}"),
            Outcome::kNotInferred);
  EXPECT_EQ(JsonOf("{\"a\":0." + Repeated("1", 999) + "}"),
            R"({"a":0.1111111111111111})");
}

TEST(JsonExpansionTest, NamesHaveTheLimitOfJackson) {
  const auto named = [](int length) {
    return "{\"" + Repeated("n", length) + "\":1}";
  };
  EXPECT_EQ(OutcomeOf(named(50'000)), Outcome::kExpanded);
  EXPECT_EQ(OutcomeOf(named(50'001)), Outcome::kNotInferred);
}

TEST(JsonExpansionTest, NumbersAreThoseOfJava) {
  EXPECT_EQ(
      JsonOf(R"({"a":2e-3,"b":1e400,"c":-1e400,"d":1e-400,"e":-0,"f":-0.0})"),
      R"({"a":0.002,"b":"Infinity","c":"-Infinity","d":0.0,"e":0,"f":-0.0})");
}

TEST(JsonExpansionTest, AFieldOfBytesTakesTheOtherType) {
  TextArena arena;
  const JsonExpansion expansion(JsonNulls::kOptionalBytes,
                                JsonEmptyArrays::kIgnore);
  const auto result =
      expansion.Expand(R"({"a":[{"x":null},{"x":1}]})", "payload", arena);
  EXPECT_EQ(result.outcome, Outcome::kExpanded);
}

TEST(JsonExpansionTest, TheElementsOfAnArrayOfArraysHaveNoPath) {
  TextArena arena;
  const JsonExpansion expansion(JsonNulls::kIgnore, JsonEmptyArrays::kIgnore);
  const auto result =
      expansion.Expand(R"({"a":[[{"b":{"c":1}}]]})", "payload", arena);
  ASSERT_EQ(result.outcome, Outcome::kExpanded);
  const Schema& object = *result.schema->fields[0].schema->values->values;
  EXPECT_EQ(object.name, "");
  EXPECT_EQ(object.fields[0].schema->name, "b");
}

}  // namespace
}  // namespace walpost::debezium
