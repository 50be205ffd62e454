#include "outbox/java_pattern.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

std::string TextOf(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

// What OpenJDK 17 makes of them: Pattern.matcher(value).matches(), then
// replaceFirst(replacement). [pattern, replacement, value, result], null: the
// value does not match.
TEST(JavaPatternTest, MatchesAndReplacesAsJavaDid) {
  std::ifstream file(std::string(WALPOST_SOURCE_DIR) +
                     "/tests/outbox/java_patterns.jsonl");
  std::string line;
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    SCOPED_TRACE(line);
    rapidjson::Document row;
    row.Parse(line.data(), line.size());
    ASSERT_TRUE(row.IsArray() && row.Size() == 4);
    const auto pattern = JavaPattern::Create(TextOf(row[0]), TextOf(row[1]));
    ASSERT_TRUE(pattern.ok()) << pattern.status();
    const std::string value = TextOf(row[2]);
    EXPECT_EQ(pattern->Matches(value), row[3].IsString());
    std::string text = "before." + value;
    ASSERT_TRUE(pattern->ReplaceFirst(text, 7).ok());
    EXPECT_EQ(text, "before." + (row[3].IsString() ? TextOf(row[3]) : value));
  }
  EXPECT_GT(rows, 450);
}

TEST(JavaPatternTest, CanIgnoreTheCaseOfAsciiLetters) {
  const auto pattern =
      JavaPattern::Create("Shop\\.Öl", "", JavaPattern::Case::kInsensitive);
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  EXPECT_TRUE(pattern->Matches("sHOP.Öl"));
  EXPECT_FALSE(pattern->Matches("shop.öl"));
}

TEST(JavaPatternTest, CopiesAreTheSame) {
  JavaPattern copy = *JavaPattern::Create("(a)b", "$1");
  const JavaPattern another = copy;
  std::string text = "ab";
  EXPECT_TRUE(another.ReplaceFirst(text, 0).ok());
  EXPECT_EQ(text, "a");
  EXPECT_EQ(another.pattern(), "(a)b");
}

// Java's $ also matches before a line terminator at the end.
TEST(JavaPatternTest, NamesAValueWhoseEndJavaSeesElsewhere) {
  for (const char* end : {"\n", "\r", "\r\n", "\xC2\x85", "\xE2\x80\xA8"}) {
    for (const char* anchored : {"(.*)$", "(.*)\\Z"}) {
      const auto pattern = JavaPattern::Create(anchored, "$1");
      std::string text = std::string("a") + end;
      const absl::Status status = pattern->ReplaceFirst(text, 0);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_NE(std::string(status.message()).find("line terminator"),
                std::string::npos);
    }
  }
  std::string text = "a\n";
  EXPECT_TRUE(
      JavaPattern::Create("(?s)(.*)\\z", "$1")->ReplaceFirst(text, 0).ok());
}

struct Refusal {
  const char* pattern;
  const char* replacement;
  const char* reason;
};

TEST(JavaPatternTest, RefusesWhatRe2CannotMatchAsJavaDoes) {
  const Refusal rows[] = {
      {"^(?!x).*", "x", "look-ahead"},
      {"a(?=b).*", "x", "look-ahead"},
      {"(?<=a)b", "x", "look-behind"},
      {"(?<!a)b", "x", "look-behind"},
      {"(a)\\1", "x", "a back reference"},
      {"(?<a>a)\\k<a>", "x", "a back reference"},
      {"a*+", "x", "a possessive quantifier"},
      {"a{2}+", "x", "a possessive quantifier"},
      {"(?>a)", "x", "an atomic group"},
      {"[a&&b]", "x", "an intersection of classes"},
      {"[a[b]]", "x", "a class within a class"},
      {"\\bx", "x", "\\b and \\B"},
      {"\\Rx", "x", "\\R"},
      {"(a*)*", "x", "a repetition of what can be empty"},
      {"(a|)+", "x", "a repetition of what can be empty"},
      {"(?:(a){1,2}){1,2}", "x", "a repeated group within a repetition"},
      {"^*a", "x", "a repeated anchor"},
      {"(?x) a", "x", "the flag x"},
      {"(?m)^a", "x", "the flag m"},
      {"(?u:a)", "x", "the flag u"},
      {"(?U)\\w", "x", "the flag U"},
      {"(?i)\\p{Lower}", "x", "\\p{Lower} with the flag i"},
      {"\\p{IsAlphabetic}", "x", "Alphabetic"},
      {"\\p{InGreek}", "x", "\\p{InGreek}"},
      {"\\p{Cn}", "x", "\\p{Cn}"},
      {"\\p{javaLowerCase}", "x", "\\p{javaLowerCase}"},
      {"a{1001}", "x", "more than 1000 repetitions"},
      {"((a{500}){500}){500}", "x", "cannot be matched as Java does"},
  };
  for (const Refusal& row : rows) {
    const absl::Status status =
        JavaPattern::Create(row.pattern, row.replacement).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.pattern;
    const std::string message(status.message());
    EXPECT_NE(message.find(row.reason), std::string::npos) << message;
    EXPECT_NE(message.find("'" + std::string(row.pattern) + "'"),
              std::string::npos)
        << message << " does not quote the pattern";
  }
}

TEST(JavaPatternTest, RefusesWhatJavaDoes) {
  const Refusal rows[] = {
      {"*", "x", "nothing is before the '*'"},
      {"a**", "x", "nothing is before the '*'"},
      {"a{2}{3}", "x", "nothing that can be repeated"},
      {"(", "x", "'(' without its ')'"},
      {"(?:a", "x", "'(' without its ')'"},
      {")", "x", "')' without its '('"},
      {"[", "x", "'[' without its ']'"},
      {"[a-", "x", "'[' without its ']'"},
      {"[^]", "x", "a class without a character"},
      {"[a-\\d]", "x", "a '-' before a class"},
      {"[b-a]", "x", "the larger end first"},
      {"\\y", "x", "\\y is not an escape"},
      {"\\", "x", "a '\\' at the end"},
      {"{", "x", "nothing that can be repeated"},
      {"a{,2}", "x", "a number is missing"},
      {"a{2", "x", "'{' without its '}'"},
      {"a{2,1}", "x", "the larger number first"},
      {"(?z)", "x", "a '(?' without its"},
      {"(?<1>a)", "x", "the name of a group"},
      {"(?<a>a)(?<a>b)", "x", "two groups with the name 'a'"},
      {"\\p{Foo}", "x", "\\p{Foo}"},
      {"\\xZ", "x", "a hexadecimal digit is missing"},
      {"\\u12", "x", "a hexadecimal digit is missing"},
      {"\\uD83D", "x", "not a character"},
      {"\\08", "x", "an octal digit is missing"},
      {"a\xFF", "x", "not UTF-8"},
  };
  for (const Refusal& row : rows) {
    const absl::Status status =
        JavaPattern::Create(row.pattern, row.replacement).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.pattern;
    const std::string message(status.message());
    EXPECT_NE(message.find(row.reason), std::string::npos) << message;
  }
}

TEST(JavaPatternTest, RefusesAReplacementThatJavaWouldRefuseForEachValue) {
  const Refusal rows[] = {
      {"a", "$1", "no group 1, but 0"},
      {"(a)", "$2", "no group 2, but 1"},
      {"a", "${x}", "no group (?<x>...)"},
      {"a", "$", "write \\$ for the character"},
      {"a", "$x", "write \\$ for the character"},
      {"a", "x\\", "a '\\' at the end"},
      {"(?<a>a)", "${a", "a '${' without its '}'"},
  };
  for (const Refusal& row : rows) {
    const absl::Status status =
        JavaPattern::Create(row.pattern, row.replacement).status();
    const std::string message(status.message());
    EXPECT_NE(message.find(row.reason), std::string::npos) << message;
    EXPECT_NE(message.find("replacement '" + std::string(row.replacement)),
              std::string::npos)
        << message;
  }
}

TEST(JavaPatternTest, LimitsItsInput) {
  EXPECT_FALSE(JavaPattern::Create(std::string(5000, 'a'), "").ok());
  EXPECT_FALSE(
      JavaPattern::Create(std::string(60, '(') + std::string(60, ')'), "")
          .ok());
  std::string groups;
  for (int i = 0; i < 32; ++i) groups += "(a)";
  EXPECT_FALSE(JavaPattern::Create(groups, "").ok());
}

}  // namespace
}  // namespace walpost
