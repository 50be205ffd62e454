#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(NearestWordTest, FindsWhatWasProbablyMeant) {
  const std::vector<std::string> verbs = {"run", "check", "recover", "replay"};
  EXPECT_EQ(NearestWord("chekc", verbs), "check");
  EXPECT_EQ(NearestWord("relpay", verbs), "replay");
  EXPECT_EQ(NearestWord("urn", verbs), "run");
  EXPECT_EQ(NearestWord("check", verbs), "check");
}

TEST(NearestWordTest, SaysNothingOfWordsThatAreFarAway) {
  EXPECT_EQ(NearestWord("start", {"run", "check"}), "");
  EXPECT_EQ(NearestWord("name", {"value"}), "");
  EXPECT_EQ(NearestWord("", {"value"}), "");
  EXPECT_EQ(NearestWord("value", {}), "");
}

}  // namespace
}  // namespace walpost
