// Each configuration that an import makes is read back as it is meant.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "config/loader.h"
#include "debezium/options.h"

namespace walpost {
namespace {

Config Load(const std::filesystem::path& path) {
  const std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  Environment environment;
  environment.variable = [](const std::string& name) {
    return std::optional<std::string>(name == "KAFKA_BROKERS" ? "kafka:9092"
                                                              : name);
  };
  environment.file = [](const std::string& name) { return name; };
  const auto config = ParseConfig(text.str(), path.string(), {}, environment);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config();
}

const std::filesystem::path kConnectors =
    std::string(WALPOST_SOURCE_DIR) + "/tests/import/connectors";

TEST(ImportedConfigTest, EachOneLoads) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConnectors)) {
    if (!entry.path().string().ends_with(".expected.yaml")) continue;
    SCOPED_TRACE(entry.path());
    EXPECT_NE(Load(entry.path()).outbox.debezium, nullptr);
    ++count;
  }
  EXPECT_GE(count, 11);
}

TEST(ImportedConfigTest, ItsKeysAreWhatTheConnectorHas) {
  const Config config = Load(kConnectors / "placements.json.expected.yaml");
  ASSERT_NE(config.outbox.debezium, nullptr);
  const debezium::Options& records = *config.outbox.debezium;
  EXPECT_EQ(records.logical_name, "shop");
  EXPECT_EQ(records.context_headers, debezium::ContextHeaders::kSince32);
  EXPECT_EQ(records.key_converter, debezium::Converter::kString);
  EXPECT_EQ(records.value_converter, debezium::Converter::kJson);
  EXPECT_EQ(records.decimal, debezium::DecimalMode::kString);
  EXPECT_EQ(records.on_update, debezium::OnUpdate::kStop);
  ASSERT_EQ(records.placements.size(), 3U);
  EXPECT_EQ(records.placements[0].name, "eventType");
  ASSERT_EQ(config.outbox.tables.size(), 1U);
  EXPECT_EQ(config.outbox.tables[0].name, "sales.outbox_event");
  EXPECT_EQ(config.outbox.tables[0].columns.id.text, "event_id");
  EXPECT_EQ(config.outbox.route.topic, "{aggregate_type|allow_empty}.events");
}

}  // namespace
}  // namespace walpost
