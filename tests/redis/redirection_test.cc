#include <gtest/gtest.h>

#include "redis/redis_error.h"

namespace walpost {
namespace {

const ServerPlace kAsked{"redis-1", 6379};

std::string PlaceOf(std::string_view error) {
  const auto found = Redirection::Of(error, kAsked);
  return found ? found->place.ToString() : "none";
}

TEST(RedirectionTest, NamesTheNode) {
  EXPECT_EQ(PlaceOf("MOVED 3999 127.0.0.1:6381"), "127.0.0.1:6381");
  EXPECT_EQ(PlaceOf("ASK 3999 redis-2:6381"), "redis-2:6381");
  EXPECT_EQ(Redirection::Of("MOVED 1 a:1", kAsked)->kind,
            Redirection::Kind::kMoved);
  EXPECT_EQ(Redirection::Of("ASK 1 a:1", kAsked)->kind,
            Redirection::Kind::kAsk);
}

TEST(RedirectionTest, ANodeWithoutAHostHasThatOfTheOneWhichAnswers) {
  EXPECT_EQ(PlaceOf("MOVED 3999 :6381"), "redis-1:6381");
  EXPECT_EQ(PlaceOf("MOVED 3999 ?:6381"), "redis-1:6381");
}

TEST(RedirectionTest, OtherErrorsAreNone) {
  for (const char* error :
       {"", "MOVED", "MOVED ", "MOVED 3999", "MOVED 3999 a:", "MOVED 1 a:x",
        "MOVED 1 a:99999", "ASKING 1 a:1", "ERR unknown"}) {
    EXPECT_EQ(PlaceOf(error), "none") << error;
  }
}

}  // namespace
}  // namespace walpost
