// docs/from-debezium.md has each key that the import knows, and what becomes of
// it.
#include <gtest/gtest.h>

#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "import/key_rules.h"

namespace walpost {
namespace {

std::string TableOf(std::span<const KeyRule> rules) {
  std::string table = "| Key | Becomes | Why, or what to do |\n|---|---|---|\n";
  for (const KeyRule& rule : rules) {
    const std::vector<std::string> values = absl::StrSplit(
        absl::string_view(rule.harmless.data(), rule.harmless.size()), '|',
        absl::SkipEmpty());
    const std::string harmless = absl::StrJoin(values, "`, `");
    const std::string unless =
        harmless.empty() ? "" : fmt::format(" (unless `{}`)", harmless);
    switch (rule.treatment) {
      case KeyRule::Treatment::kCarried:
        table += fmt::format(
            "| `{}` | {} | |\n", rule.name,
            rule.text == "-" ? "checked" : fmt::format("`{}`", rule.text));
        break;
      case KeyRule::Treatment::kNotNeeded:
        table +=
            fmt::format("| `{}` | not needed | {} |\n", rule.name, rule.text);
        break;
      case KeyRule::Treatment::kOpen:
        table += fmt::format("| `{}` | to be decided{} | {} |\n", rule.name,
                             unless, rule.text);
        break;
      case KeyRule::Treatment::kRefused:
        table += fmt::format("| `{}` | refused{} | {} |\n", rule.name, unless,
                             rule.text);
        break;
    }
  }
  return table;
}

TEST(KeyTableTest, TheDocumentHasTheTables) {
  const std::ifstream file(std::string(WALPOST_SOURCE_DIR) +
                           "/docs/from-debezium.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const auto rules :
       {RouterRules(), ConnectorRules(), ProducerRules(), ServerRules()}) {
    const std::string table = TableOf(rules);
    EXPECT_NE(text.str().find("\n" + table), std::string::npos)
        << "expected in docs/from-debezium.md:\n"
        << table;
  }
}

}  // namespace
}  // namespace walpost
