#include "base/server_place.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

std::string Text(std::string_view text) {
  const auto place = ServerPlace::Parse(text, 6379);
  return place ? place->ToString() : "wrong";
}

TEST(ServerPlaceTest, ReadsWhatConfigurationsSpell) {
  EXPECT_EQ(Text("a"), "a:6379");
  EXPECT_EQ(Text("127.0.0.1:7"), "127.0.0.1:7");
  EXPECT_EQ(Text("[::1]:7"), "[::1]:7");
  EXPECT_EQ(Text("[fe80::2]"), "[fe80::2]:6379");
  EXPECT_EQ(Text("::1"), "[::1]:6379");
  EXPECT_EQ(Text("fe80::1%eth0"), "[fe80::1%eth0]:6379");
}

TEST(ServerPlaceTest, RejectsWhatIsNoPlace) {
  for (const char* text :
       {"", ":1", "a:", "a:0", "a:99999", "a:70000", "a:x", "a:1x", "a b:1",
        "redis://a:1", "a:1,b:2", "a:1:2", "[::1", "[a]:1", "[]:1", "[::1]1",
        "u:p@a:1", "u@a", "a/b"}) {
    EXPECT_EQ(Text(text), "wrong") << text;
  }
}

}  // namespace
}  // namespace walpost
