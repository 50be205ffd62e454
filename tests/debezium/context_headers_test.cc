#include "debezium/context_headers.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace walpost::debezium {
namespace {

std::vector<std::string> TextsOf(const Options& options) {
  std::vector<std::string> texts;
  for (const ContextHeader& header : MakeContextHeaders(options, "run")) {
    texts.push_back(header.name + "=" + header.value);
  }
  return texts;
}

TEST(ContextHeadersTest, TheirNumberIsThatOfTheRelease) {
  Options options;
  options.logical_name = "srv";
  EXPECT_EQ(TextsOf(options), (std::vector<std::string>{
                                  "__debezium.context.connectorLogicalName=srv",
                                  "__debezium.context.taskId=0",
                                  "__debezium.context.connectorName=postgresql",
                                  "__debezium.context.runId=run"}));
  options.context_headers = ContextHeaders::kSince32;
  EXPECT_EQ(TextsOf(options).size(), 3u);
  options.context_headers = ContextHeaders::kNone;
  EXPECT_TRUE(TextsOf(options).empty());
}

TEST(ContextHeadersTest, TheirBytesAreThoseOfTheHeaderConverter) {
  Options options;
  options.logical_name = "srv";
  options.header_converter = HeaderConverter::kJson;
  EXPECT_EQ(TextsOf(options)[0],
            "__debezium.context.connectorLogicalName=\"srv\"");
  options.header_converter = HeaderConverter::kJsonSchemas;
  EXPECT_EQ(TextsOf(options)[1],
            "__debezium.context.taskId="
            R"({"schema":{"type":"string","optional":false},"payload":"0"})");
}

}  // namespace
}  // namespace walpost::debezium
