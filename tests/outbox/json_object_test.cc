#include "outbox/json_object.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace walpost {
namespace {

using std::literals::operator""sv;
using Members = std::vector<std::pair<std::string, std::optional<std::string>>>;

Members MembersOf(const JsonObject& object) {
  Members members;
  for (const auto& [name, value] : object.members()) {
    members.emplace_back(name, value);
  }
  return members;
}

Members MustParse(std::string_view text) {
  JsonObject object;
  const absl::Status status = object.Parse(text);
  EXPECT_TRUE(status.ok()) << text << ": " << status;
  return MembersOf(object);
}

TEST(JsonObjectTest, GivesMembersInTheOrderTheyWereWritten) {
  EXPECT_EQ(MustParse(R"({"b": "1", "a": "2", "c": "3"})"),
            (Members{{"b", "1"}, {"a", "2"}, {"c", "3"}}));
  EXPECT_EQ(MustParse("{}"), Members());
  EXPECT_EQ(MustParse(" \t\r\n{ \n} \n"), Members());
}

TEST(JsonObjectTest, StringsGiveTheirDecodedText) {
  EXPECT_EQ(MustParse(R"({"s": "a\"b\\c\/d\b\f\n\r\té\u00e9\ud83d\ude00"})"),
            (Members{{"s", "a\"b\\c/d\b\f\n\r\té\u00e9\U0001F600"}}));
  EXPECT_EQ(MustParse(R"({"s": ""})"), (Members{{"s", ""}}));
  EXPECT_EQ(MustParse(R"({"s": "a\u0000b"})"),
            (Members{{"s", std::string("a\0b", 3)}}));
}

TEST(JsonObjectTest, NamesAreDecodedToo) {
  EXPECT_EQ(MustParse(R"({"tr\u0061ce": 1, "": 2})"),
            (Members{{"trace", "1"}, {"", "2"}}));
}

TEST(JsonObjectTest, NullIsNoValueAndNotTheTextNull) {
  EXPECT_EQ(MustParse(R"({"a": null, "b": "null"})"),
            (Members{{"a", std::nullopt}, {"b", "null"}}));
}

TEST(JsonObjectTest, NumbersAndBooleansKeepTheBytesTheyWereWrittenWith) {
  EXPECT_EQ(MustParse(R"({"a":0,"b":-0,"c":12.50,"d":1E+2,"e":1e-7,)"
                      R"("f":12345678901234567890123,"g":true,"h":false})"),
            (Members{{"a", "0"},
                     {"b", "-0"},
                     {"c", "12.50"},
                     {"d", "1E+2"},
                     {"e", "1e-7"},
                     {"f", "12345678901234567890123"},
                     {"g", "true"},
                     {"h", "false"}}));
}

// PostgreSQL's json takes any number, jsonb any that fits numeric: 131072
// digits before the point.
TEST(JsonObjectTest, NumbersBeyondADoubleKeepTheirBytes) {
  const std::string digits(400, '9');
  EXPECT_EQ(MustParse(R"({"n": 1e400})"), (Members{{"n", "1e400"}}));
  EXPECT_EQ(MustParse(R"({"n": -1E+99999})"), (Members{{"n", "-1E+99999"}}));
  EXPECT_EQ(MustParse(R"({"n": 1e-400})"), (Members{{"n", "1e-400"}}));
  EXPECT_EQ(MustParse(R"({"n": )" + digits + "}"), (Members{{"n", digits}}));
  EXPECT_EQ(MustParse(R"({"n": 0.)" + digits + "}"),
            (Members{{"n", "0." + digits}}));
  EXPECT_EQ(MustParse(R"({"payload": {"n": [1e400]}})"),
            (Members{{"payload", R"({"n": [1e400]})"}}));
}

TEST(JsonObjectTest, ANumberBeyondADoubleLeavesTheTextsBesideIt) {
  EXPECT_EQ(MustParse(R"({"note": "\"7e12\" is not 1e400", "n": 1e400})"),
            (Members{{"note", R"("7e12" is not 1e400)"}, {"n", "1e400"}}));
  EXPECT_EQ(MustParse(R"({"path": "C:\\", "n": 1e400, "code": "7e12"})"),
            (Members{{"path", R"(C:\)"}, {"n", "1e400"}, {"code", "7e12"}}));
}

TEST(JsonObjectTest, NestedValuesKeepTheBytesTheyWereWrittenWith) {
  constexpr std::string_view kNested[] = {
      "{}",
      "[]",
      "{ }",
      "[ \t\n1 ,2 ]",
      R"({"a" : {"b":[1,  2.50, null, "x\ny"]},  "c":"\u00e9\"}{]["})",
      R"(["\\", "\"", "}"])",
      R"([[[[]]],{"a":{}}])",
  };
  for (const std::string_view nested : kNested) {
    const std::string text = R"({"before": "\u0041", "payload": )" +
                             std::string(nested) + R"( , "after":[]})";
    EXPECT_EQ(MustParse(text), (Members{{"before", "A"},
                                        {"payload", std::string(nested)},
                                        {"after", "[]"}}));
  }
}

TEST(JsonObjectTest, NestedValuesAreViewsOfTheText) {
  const std::string text = R"({"a": [1, 2]})";
  JsonObject object;
  ASSERT_TRUE(object.Parse(text).ok());
  EXPECT_EQ((*object.Find("a"))->data(), text.data() + 6);
}

TEST(JsonObjectTest, NamesOfNestedMembersAreNotMembers) {
  EXPECT_EQ(
      MustParse(R"({"a": {"id": 1}, "id": 2, "b": [{"id": 3}]})"),
      (Members{{"a", R"({"id": 1})"}, {"id", "2"}, {"b", R"([{"id": 3}])"}}));
}

TEST(JsonObjectTest, FindsTheLastOfEqualNames) {
  JsonObject object;
  ASSERT_TRUE(object.Parse(R"({"a": 1, "b": 2, "a": null, "c": "x"})").ok());
  EXPECT_EQ(object.members().size(), 4u);
  ASSERT_NE(object.Find("a"), nullptr);
  EXPECT_EQ(*object.Find("a"), std::nullopt);
  EXPECT_EQ(*object.Find("b"), "2");
  EXPECT_EQ(object.Find("d"), nullptr);
}

TEST(JsonObjectTest, SurvivesAnyDepth) {
  constexpr size_t kLevels = 100'000;
  const std::string arrays =
      std::string(kLevels, '[') + std::string(kLevels, ']');
  EXPECT_EQ(MustParse(R"({"a":)" + arrays + "}"), (Members{{"a", arrays}}));
  std::string objects;
  for (size_t i = 0; i < kLevels; ++i) objects += R"({"a":)";
  JsonObject object;
  EXPECT_FALSE(object.Parse(objects).ok()) << "it never ends";
  EXPECT_TRUE(object.Parse(objects + "1" + std::string(kLevels, '}')).ok());
}

TEST(JsonObjectTest, ForgetsTheLastOneWhenTheNextFails) {
  JsonObject object;
  ASSERT_TRUE(object.Parse(R"({"a": 1})").ok());
  EXPECT_FALSE(object.Parse(R"({"b": 2, )").ok());
  EXPECT_TRUE(object.members().empty());
  ASSERT_TRUE(object.Parse(R"({"c": 3})").ok());
  EXPECT_EQ(MembersOf(object), (Members{{"c", "3"}}));
  object.Clear();
  EXPECT_EQ(object.Find("c"), nullptr);
}

TEST(JsonObjectTest, JsonThatIsNoObjectIsRefusedAsSuch) {
  JsonObject object;
  for (const char* text : {"[]", "[{}]", "1", "-1.5", "\"{}\"", "true", "false",
                           "null", " [1, 2] "}) {
    const absl::Status status = object.Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_EQ(std::string(status.message()), "it is JSON, but not an object")
        << text;
  }
}

TEST(JsonObjectTest, WhatIsNoJsonIsRefusedWithThePlace) {
  JsonObject object;
  for (const std::string_view text : {""sv,
                                      " "sv,
                                      "{"sv,
                                      "}"sv,
                                      "x"sv,
                                      R"({"a"})"sv,
                                      R"({"a":})"sv,
                                      R"({"a":1,})"sv,
                                      R"({"a" 1})"sv,
                                      R"({'a':1})"sv,
                                      R"({a:1})"sv,
                                      R"({"a":1 "b":2})"sv,
                                      R"({"a":01})"sv,
                                      R"({"a":+1})"sv,
                                      R"({"a":.5})"sv,
                                      R"({"a":NaN})"sv,
                                      R"({"a":tru})"sv,
                                      R"({}x)"sv,
                                      R"({}{})"sv,
                                      R"({"a":"\x"})"sv,
                                      R"({"a":"\u12"})"sv,
                                      R"({"a":"\ud83d"})"sv,
                                      "{\"a\":\"line\nbreak\"}"sv,
                                      R"({"a":[1,2})"sv,
                                      R"({"a":{]})"sv,
                                      R"(// no
        {})"sv}) {
    const absl::Status status = object.Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(std::string(status.message()).find("at byte"), std::string::npos)
        << text << ": " << status;
  }
}

TEST(JsonObjectTest, ANulByteIsNoEnd) {
  JsonObject object;
  EXPECT_FALSE(object.Parse("{}\0{}"sv).ok());
  EXPECT_FALSE(object.Parse("{\"a\": \"x\0y\"}"sv).ok());
  EXPECT_FALSE(object.Parse("\0"sv).ok());
}

TEST(JsonObjectTest, InvalidUtf8IsRefused) {
  JsonObject object;
  for (const std::string_view bytes :
       {"\x80"sv, "\xff"sv, "\xc3"sv, "\xe2\x82"sv, "\xc0\xaf"sv,
        "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv, "\xf8\x88\x80\x80\x80"sv}) {
    const std::string text(bytes);
    EXPECT_FALSE(object.Parse("{\"a\": \"" + text + "\"}").ok());
    EXPECT_FALSE(object.Parse("{\"" + text + "\": 1}").ok());
    EXPECT_FALSE(object.Parse("{\"a\": [\"" + text + "\"]}").ok());
  }
  EXPECT_TRUE(object.Parse("{\"a\": \"\xf0\x9f\x98\x80\"}").ok());
}

TEST(JsonObjectTest, NoPrefixOfAnObjectIsOne) {
  const std::string whole =
      R"({"id":"é\u00e9","n":-12.5e3,"t":true,"x":null,"p":{"a":["\\",{}]}})";
  JsonObject object;
  ASSERT_TRUE(object.Parse(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(absl::IsInvalidArgument(object.Parse(whole.substr(0, size))))
        << size;
  }
}

}  // namespace
}  // namespace walpost
