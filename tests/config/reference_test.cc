#include "config/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>
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

// One `#` is removed from each line, but for the sections of other sinks.
std::string Uncommented(std::string_view sink) {
  std::istringstream sample(SampleConfig());
  std::string used;
  bool is_of_another = false;
  for (std::string line; std::getline(sample, line);) {
    if (line.starts_with('#')) line = line.substr(1);
    if (!line.empty() && line.front() != ' ' && line.front() != '#') {
      const std::string section = line.substr(0, line.find(':'));
      const auto is_it = [&](const auto& named) {
        return named.first == section;
      };
      is_of_another = section != sink && std::ranges::any_of(kSinkKinds, is_it);
    }
    if (line.starts_with("sink:")) line = "sink: " + std::string(sink);
    if (!is_of_another) used += line + '\n';
  }
  // Its first lines are for people.
  return used.substr(used.find("# where"));
}

TEST(ReferenceTest, TheSampleHasTheDefaults) {
  for (const auto& [sink, kind] : kSinkKinds) {
    const std::string used = Uncommented(sink);
    const std::string only = "sink: " + std::string(sink);
    EXPECT_EQ(PrintConfig(Parse(used)), PrintConfig(Parse(only)));
    for (const char* key : {"wal_budget: auto", "max_isolated_time: 1d",
                            "- name: public.outbox", "record_refused: stop"}) {
      EXPECT_THAT(used, HasSubstr(key));
    }
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
