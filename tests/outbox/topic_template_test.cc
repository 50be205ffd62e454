#include "outbox/topic_template.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/reason_code.h"

namespace walpost {
namespace {

using Names = std::vector<std::string>;

struct Expansion {
  const char* text;
  std::vector<Value> values;
  const char* topic;
};

TEST(TopicTemplateTest, ABackslashMakesABraceOfTheNameWhereThereAreSome) {
  constexpr char kText[] = R"(\{shop\}.{type})";
  const auto others = TopicTemplate::Parse(kText, NameRule::kOthers);
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_EQ(others->prefix(), "{shop}.");
  const std::vector<Value> values = {"paid"};
  std::string topic;
  EXPECT_TRUE(others->Expand(values, topic).ok());
  EXPECT_EQ(topic, "{shop}.paid");
  EXPECT_FALSE(TopicTemplate::Parse(kText, NameRule::kKafka).ok());
  EXPECT_FALSE(TopicTemplate::Parse(R"(a}\{b)", NameRule::kOthers).ok());
}

TEST(TopicTemplateTest, ExpandsToATopic) {
  const Expansion rows[] = {
      {"orders", {}, "orders"},
      {"outbox.event.{aggregate_type}", {"order"}, "outbox.event.order"},
      {"{a}", {"x"}, "x"},
      {"{a}{b}", {"x", "y"}, "xy"},
      {"{a}-{b}-{a}", {"x", "y"}, "x-y-x"},
      {"{a|lower}", {"Order-PLACED_1"}, "order-placed_1"},
      {"{a|replace:_:-}", {"a_b__c"}, "a-b--c"},
      {"{a|lower|replace:_:-}", {"ORDER_PLACED"}, "order-placed"},
      {"{a|replace:A:b|lower}", {"A_A"}, "b_b"},
      {"{a|lower|replace:A:b}", {"A_A"}, "a_a"},
      {"{a|replace:x:}", {"axbxc"}, "abc"},
      {"{a|replace:ab:b}", {"aab"}, "ab"},
      {"{a|replace:a:aa}", {"aba"}, "aabaa"},
      {"{a|replace:oo:.}", {"foofoo"}, "f.f."},
      {"{a|replace:zz:y}", {"abc"}, "abc"},
      {"A{a|lower}B{b}", {"X", "Y"}, "AxBY"},
      {"x_{a|replace:x:y}", {"x"}, "x_y"},
      {"{a|default:other}", {Value()}, "other"},
      {"{a|default:other}", {""}, "other"},
      {"{a|default:other}", {"x"}, "x"},
      {"x.{a|default:Other|lower}", {Value()}, "x.other"},
      {"x.{a|lower|default:Other}", {Value()}, "x.Other"},
      {"{a|default:x}.{a}", {"y"}, "y.y"},
      {"x.{a|allow_empty}", {""}, "x."},
      {"x.{a|allow_empty}", {"y"}, "x.y"},
      {"{a|match:(.*)\\.(.*):$2-$1}", {"a.b"}, "b-a"},
      {"{a|match:(.*)\\.(.*):$2-$1}", {"customer"}, "customer"},
      {"{a|match:cust.*:matched}", {"customer"}, "matched"},
      {"{a|match:cust.*:matched}", {"a.b"}, "a.b"},
      {"{a|match:a\\|ab:X}", {"ab"}, "Xb"},
      {"{a|match:(?<v>.*):event.$\\{v\\}}", {"order"}, "event.order"},
      {"{a|match:(?<v>.*):event.$\\{v\\}}", {""}, "event."},
      {"{a|match:(?\\:b\\{2\\}\\|c)\\\\.x:y}", {"bb.x"}, "y"},
      {"{a|match:(.):$1$1|lower}", {"X"}, "xx"},
      {"{a|lower|match:x:y}", {"X"}, "y"},
      {"{a|default:x|match:x:y}", {Value()}, "y"},
      {"{a|match:x:y|default:z}", {Value()}, "z"},
      {"{a|match:(?<kind>\\w+)\\.v(\\d):events.$\\{kind\\}-$2}",
       {"order.v2"},
       "events.order-2"},
      {"{a|match:(?<kind>\\w+)\\.v(\\d):events.$\\{kind\\}-$2}",
       {"invoice"},
       "invoice"},
      {"p.{a|match:x:y}.{b}", {"x", "b"}, "p.y.b"},
  };
  for (const Expansion& row : rows) {
    SCOPED_TRACE(row.text);
    const auto parsed = TopicTemplate::Parse(row.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    std::string topic = "what was there before";
    const absl::Status status = parsed->Expand(row.values, topic);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(topic, row.topic);
  }
}

TEST(TopicTemplateTest, NamesItsReferencesOnceInOrder) {
  const auto parsed = TopicTemplate::Parse("{b}.{a|lower}.{b|lower}.{c}");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->references(), (Names{"b", "a", "c"}));
  EXPECT_EQ(TopicTemplate::Parse("constant")->references(), Names());
}

TEST(TopicTemplateTest, KnowsItsTextAndItsPrefix) {
  const auto parsed = TopicTemplate::Parse("outbox.{a}.x");
  EXPECT_EQ(parsed->text(), "outbox.{a}.x");
  EXPECT_EQ(parsed->prefix(), "outbox.");
  EXPECT_EQ(TopicTemplate::Parse("{a}.x")->prefix(), "");
  EXPECT_EQ(TopicTemplate::Parse("constant")->prefix(), "constant");
}

struct Refusal {
  const char* text;
  const char* reason;
};

TEST(TopicTemplateTest, RefusesWhatItCannotReadAndSaysWhy) {
  const Refusal rows[] = {
      {"", "it is empty"},
      {"a{b", "'{' without its '}'"},
      {"{", "'{' without its '}'"},
      {"a}b", "'}' without its '{'"},
      {"{a}}", "'}' without its '{'"},
      {"{}", "a name is missing"},
      {"{|lower}", "a name is missing"},
      {"{a|upper}", "'upper' is not a function"},
      {"{a||lower}", "'' is not a function"},
      {"{a|lower:x}", "'lower:x' is not a function"},
      {"{a|replace}", "'replace' is not a function"},
      {"{a|replace:x}", "'replace:x' is not a function"},
      {"{a|replace::y}", "'replace::y' is not a function"},
      {"{a|replace:x:y:z}", "'replace:x:y:z' is not a function"},
      {"{a| lower}", "' lower' is not a function"},
      {"{a|match:x}", "'match:x' is not a function"},
      {"{a|match:(?\\:x):y:z}", "is not a function"},
      {"{a|match:(:y}", "pattern '(': a '(' without its ')'"},
      {"{a|match:a:$1}", "replacement '$1': the pattern has no group 1"},
      {"{a|allow_empty:x}", "'allow_empty:x' is not a function"},
  };
  for (const Refusal& row : rows) {
    const absl::Status status = TopicTemplate::Parse(row.text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.text;
    const std::string message(status.message());
    EXPECT_NE(message.find(row.reason), std::string::npos) << message;
    EXPECT_NE(message.find("'" + std::string(row.text) + "'"),
              std::string::npos)
        << message << " does not quote the template";
  }
}

TEST(TopicTemplateTest, RefusesAFunctionThatIsMissing) {
  EXPECT_TRUE(absl::IsInvalidArgument(TopicTemplate::Parse("{a|}").status()));
}

// `outbox.event.` is a topic that Kafka takes, and nobody reads.
TEST(TopicTemplateTest, P8AnEmptyFieldGivesNoTopicAndIsNamed) {
  const auto parsed = TopicTemplate::Parse("event.{a}");
  std::string topic;
  const absl::Status status = parsed->Expand(std::vector<Value>{""}, topic);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(ReasonCodeOf(status), kReasonTopicFieldMissing);
  EXPECT_NE(std::string(status.message()).find("'a' is empty"),
            std::string::npos)
      << status;
}

TEST(TopicTemplateTest, NullGivesNoTopicAndIsNamed) {
  const auto parsed = TopicTemplate::Parse("{a}.{event_type}");
  std::string topic;
  const absl::Status status =
      parsed->Expand(std::vector<Value>{"x", std::nullopt}, topic);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(std::string(status.message()).find("'event_type' is NULL"),
            std::string::npos)
      << status;
}

// Its replacement need not have anything of the value.
TEST(TopicTemplateTest, NullGivesNoTopicToAFunctionThatTakesEmptyValues) {
  for (const char* text : {"x.{a|match:.*:y}", "x.{a|allow_empty}"}) {
    std::string topic;
    const absl::Status status =
        TopicTemplate::Parse(text)->Expand(std::vector<Value>{Value()}, topic);
    EXPECT_EQ(ReasonCodeOf(status), kReasonTopicFieldMissing) << status;
    EXPECT_NE(std::string(status.message()).find("'a' is NULL"),
              std::string::npos)
        << status;
  }
}

TEST(TopicTemplateTest, NamesAValueThatItsPatternCannotTake) {
  std::string topic;
  const absl::Status status = TopicTemplate::Parse("{a|match:(.*)$:$1}")
                                  ->Expand(std::vector<Value>{"x\n"}, topic);
  EXPECT_EQ(ReasonCodeOf(status), kReasonTopicIllegal) << status;
}

TEST(TopicTemplateTest, ATextIsEscapedAsAWord) {
  for (const char* text : {"a", "{}|:\\", "(?<v>a\\.b|c{2})\\\\", ""}) {
    const auto parsed =
        TopicTemplate::Parse("{a|default:x" + EscapedInBraces(text) + "}");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    std::string topic;
    (void)parsed->Expand(std::vector<Value>{Value()}, topic);
    EXPECT_EQ(topic, "x" + std::string(text));
  }
}

TEST(TopicTemplateTest, RefusesATopicThatKafkaWould) {
  const auto parsed = TopicTemplate::Parse("{a}");
  std::string topic;
  const absl::Status status =
      parsed->Expand(std::vector<Value>{"order placed"}, topic);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(std::string(status.message()).find("'order placed'"),
            std::string::npos)
      << status;
}

TEST(TopicTemplateTest, SeparatesValuesThatNeverMakeOneTopic) {
  const auto separates = [](std::string_view text) {
    return TopicTemplate::Parse(text)->Separates("x");
  };
  EXPECT_TRUE(separates("a.{x}.b"));
  EXPECT_TRUE(separates("a.{x|allow_empty}"));
  EXPECT_FALSE(separates("a.{x|match:y:z}"));
  EXPECT_FALSE(separates("a.{x|lower}"));
  EXPECT_FALSE(separates("a.{x|default:other}"));
  EXPECT_FALSE(separates("a.{x}{y}"));
  EXPECT_FALSE(separates("a.{y}"));
  EXPECT_FALSE(separates("a"));
}

TEST(TopicNameTest, AcceptsWhatKafkaAccepts) {
  for (const std::string& name : {std::string("a"), std::string("A-b_c.9"),
                                  std::string("..."), std::string(249, 'x')}) {
    EXPECT_TRUE(ValidateTopicName(name).ok()) << name;
  }
}

TEST(TopicNameTest, RefusesWhatKafkaRefuses) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."),
        std::string(250, 'x'), std::string("a b"), std::string("a/b"),
        std::string("a\nb"), std::string("é"), std::string("a\0b", 3),
        std::string("a:b"), std::string("{a}")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateTopicName(name))) << name;
  }
}

TEST(TopicNameTest, OtherSinksTakeMore) {
  for (const char* name : {"a:b", "a/b", "orders.{42}", "a,b"}) {
    EXPECT_TRUE(ValidateTopicName(name, NameRule::kOthers).ok()) << name;
  }
  for (const char* name : {"", ".", "a b", "a*", "a>", "a\nb", "é", "a\"b"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(ValidateTopicName(name, NameRule::kOthers)))
        << name;
  }
}

TEST(TopicNameTest, AHugeNameMakesNoHugeMessage) {
  const absl::Status status = ValidateTopicName(std::string(1'000'000, '?'));
  EXPECT_LT(status.message().size(), 1'000u);
}

TEST(TopicTemplateTest, AFunctionCanTakeEachCharacter) {
  struct Row {
    const char* text;
    std::string value;
    const char* topic;
  };
  for (const Row& row :
       {Row{R"({t|replace:\}:-})", "a}b", "a-b"},
        Row{R"({t|replace:\|:-})", "a|b", "a-b"},
        Row{R"({t|replace:\::-})", "a:b", "a-b"},
        Row{R"({t|replace:\\:-})", "a\\b", "a-b"},
        Row{R"({t|replace:\{:-})", "a{b", "a-b"},
        Row{R"({t|replace:{:-})", "a{b", "a-b"},
        Row{R"({t|replace:\x:-})", "a\\xb", "a-b"},
        Row{R"(x.{t|replace:\}\|\::.}.y)", "a}|:b", "x.a.b.y"}}) {
    const auto parsed = TopicTemplate::Parse(row.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    std::string topic;
    const Value values[] = {row.value};
    EXPECT_TRUE(parsed->Expand(values, topic).ok()) << row.text;
    EXPECT_EQ(topic, row.topic) << row.text;
  }
  EXPECT_EQ(TopicTemplate::Parse(R"({a\|b\}})")->references(),
            std::vector<std::string>{"a|b}"});
  EXPECT_FALSE(TopicTemplate::Parse(R"({t|replace:a:\})").ok());
}

}  // namespace
}  // namespace walpost
