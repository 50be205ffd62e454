#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "import/captured_tables.h"
#include "import/connector_offsets.h"
#include "import/java_properties.h"

namespace walpost {
namespace {

using Words = std::vector<std::string>;

TEST(JavaPropertiesTest, ReadsWhatJavaReads) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "b"},   {"c", "d"},         {"e", "f g "},     {"h", ""},
      {"i j", "k"}, {"long", "onetwo"}, {"u", "\xC3\xA4"}, {"s", "a\tb\\c"},
      {"=x", "y"},  {"last", "z"}};
  const auto read = ParseJavaProperties(
      "# comment\n! another\\\na=b\n  c : d\ne f g \nh\r\ni\\ j=k\n"
      "long=one\\\n   two\n\nu=\\u00e4\ns=a\\tb\\\\c\n\\=x=y\nlast=z");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, expected);
}

TEST(CapturedTablesTest, NamesTheTablesOfAPattern) {
  const std::pair<const char*, Words> rows[] = {
      {"public.outbox", {"public.outbox"}},
      {"public\\.outbox", {"public.outbox"}},
      {"^public\\.outbox$", {"public.outbox"}},
      {"(a|b)\\.outbox", {"a.outbox", "b.outbox"}},
      {"(?:a|b).(x|y)", {"a.x", "a.y", "b.x", "b.y"}},
      {"a.x|b.y", {"a.x", "b.y"}},
      {"tenant_.*\\.outbox", {"tenant_*.outbox"}},
      {".*\\.outbox", {"*.outbox"}},
      {"public\\..*", {"public.*"}},
      {"public.out-box", {"public.out-box"}},
  };
  for (const auto& [pattern, names] : rows) {
    const auto found = TablesOfPattern(pattern);
    ASSERT_TRUE(found.ok()) << found.status();
    Words sorted = *found;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, names) << pattern;
  }
}

TEST(CapturedTablesTest, RefusesOthersByName) {
  for (const char* pattern :
       {"outbox", "a.b.c", ".*outbox", "public.*", "public.outbox.?",
        "public.outbox_\\d+", "public.(outbox", "public.[ab]", "public.a+",
        "public.", ".outbox", ""}) {
    const auto found = TablesOfPattern(pattern);
    ASSERT_FALSE(found.ok()) << pattern;
    EXPECT_NE(std::string(found.status().message()).find("--table"),
              std::string::npos);
  }
}

TEST(CapturedTablesTest, SplitsAListAtCommas) {
  EXPECT_EQ(SplitPatternList(" a.b , c\\,d,\\.e,"),
            (Words{"a.b", "c,d", "\\.e"}));
  EXPECT_EQ(SplitPatternList(""), Words());
}

TEST(CapturedTablesTest, MatchesInAnyCase) {
  EXPECT_TRUE(*AnyMatches({"x", "Public\\..*"}, "public.outbox"));
  EXPECT_FALSE(*AnyMatches({"public"}, "public.outbox"));
  EXPECT_FALSE(AnyMatches({"(?!x)"}, "a").ok());
}

struct OffsetRow {
  const char* text;
  const char* lsn;
  const char* name;
};

TEST(ConnectorOffsetsTest, TakesTheEndOfTheLastWholeTransaction) {
  const OffsetRow rows[] = {
      {R"({"offsets":[{"partition":{"server":"shop"},"offset":{"lsn_proc":)"
       R"(97518553672,"messageType":"INSERT","lsn_commit":97518553160,)"
       R"("lsn":97518553672,"txId":612,"ts_usec":1}}]})",
       "16/B48F0848", "lsn_commit"},
      {R"({"lsn_proc":24023128,"lsn":24023129})", "0/16E9058", "lsn_proc"},
      {R"({"transaction_id":null,"lsn":24023128})", "0/16E9058", "lsn"},
      {R"(["shop",{"server":"shop"}] {"lsn":24023128,"snapshot":"false"})",
       "0/16E9058", "lsn"},
      {R"({"lsn":24023128,"snapshot":true,"last_snapshot_record":true})",
       "0/16E9058", "lsn"},
  };
  for (const auto& [text, lsn, name] : rows) {
    const auto offset = ReadConnectorOffset(text);
    ASSERT_TRUE(offset.ok()) << offset.status() << text;
    EXPECT_EQ(offset->lsn.ToString(), lsn);
    EXPECT_EQ(offset->name, name);
  }
}

TEST(ConnectorOffsetsTest, SaysWhatItCannotTake) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "no offset"},
      {"{", "not JSON"},
      {"{\"a\": 1}", "no offset"},
      {"{\"offsets\": []}", "no offset"},
      {"[{\"lsn\": 1}, {\"lsn\": 2}]", "2 offsets"},
      {"{\"lsn\": 1} {\"lsn\": 2}", "2 offsets"},
      {"{\"lsn\": 5, \"snapshot\": true}", "within its snapshot"},
      {"{\"lsn\": 5, \"snapshot\": \"INITIAL\"}", "within its snapshot"},
      {"{\"lsn\": -1}", "not a positive number"},
      {"{\"lsn\": \"0/1\"}", "not a positive number"},
      {"{\"lsn\": null}", "null"},
  };
  for (const auto& [text, reason] : rows) {
    const auto offset = ReadConnectorOffset(text);
    ASSERT_FALSE(offset.ok()) << text;
    EXPECT_NE(std::string(offset.status().message()).find(reason),
              std::string::npos)
        << offset.status();
  }
}

}  // namespace
}  // namespace walpost
