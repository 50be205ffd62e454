#include "config/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "config/key_texts.h"
#include "config/loader.h"
#include "config/printer.h"
#include "config/reference_keys.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;

Config Parse(const std::string& text) {
  const auto config =
      ParseConfig(text, "walpost.yaml", {}, Environment::Real());
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << text;
  return config.ok() ? *config : Config();
}

std::string ReadDocument(const std::string& name) {
  std::ifstream file(WALPOST_SOURCE_DIR "/docs/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReferenceTest, EveryKeyHasATextAndEveryTextAKey) {
  std::set<std::string> texts;
  for (const KeyText& text : KeyTexts()) {
    EXPECT_TRUE(texts.emplace(text.path).second) << text.path;
  }
  std::set<std::string> keys;
  for (const KeyDescription& key : ReferenceKeys()) {
    keys.insert(GeneralPath(key));
  }
  EXPECT_EQ(texts, keys);
}

TEST(ReferenceTest, TheDocumentationHasTheTable) {
  EXPECT_THAT(ReadDocument("configuration.md"), HasSubstr(ReferenceTable()))
      << "replace it: walpost config table";
}

TEST(ReferenceTest, TheSampleSetsNothing) {
  const Config empty = Parse("");
  EXPECT_EQ(PrintConfig(Parse(SampleConfig())), PrintConfig(empty));
}

// One `#` is removed from each line.
TEST(ReferenceTest, TheSampleHasTheDefaults) {
  std::istringstream sample(SampleConfig());
  std::string used;
  for (std::string line; std::getline(sample, line);) {
    used += line.starts_with('#') ? line.substr(1) : line;
    used += '\n';
  }
  // Its first lines are for people.
  used = used.substr(used.find("# where"));
  EXPECT_EQ(PrintConfig(Parse(used)), PrintConfig(Parse("")));
  for (const char* key : {"wal_budget: auto", "max_isolated_time: 1d",
                          "- name: public.outbox", "record_refused: stop"}) {
    EXPECT_THAT(used, HasSubstr(key));
  }
}

TEST(ReferenceTest, TheSchemaKnowsRangesAndChoices) {
  rapidjson::Document schema;
  schema.Parse(ConfigSchema().c_str());
  ASSERT_TRUE(schema.IsObject());
  const auto& keys = schema["properties"];
  const auto& rows = keys["retention"]["properties"]["batch_rows"];
  EXPECT_EQ(rows["anyOf"][0]["minimum"].GetUint(), 1u);
  EXPECT_EQ(rows["anyOf"][0]["maximum"].GetUint(), 100'000u);
  const auto& store = keys["checkpoint"]["properties"]["store"];
  EXPECT_EQ(store["anyOf"][0]["enum"].Size(), 4u);
  const auto& table = keys["outbox"]["properties"]["tables"]["items"];
  EXPECT_TRUE(table["properties"]["state"]["properties"].HasMember("status"));
  EXPECT_FALSE(table["additionalProperties"].GetBool());
}

}  // namespace
}  // namespace walpost
