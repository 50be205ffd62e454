#include "redis/resp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::ElementsAre;

TEST(RespTest, SaysACommand) {
  EXPECT_EQ(Command({"XLEN", "a b"}), "*2\r\n$4\r\nXLEN\r\n$3\r\na b\r\n");
}

TEST(ReplyReaderTest, GivesRepliesInTheirOrder) {
  ReplyReader reader;
  ASSERT_TRUE(
      reader.Feed("+PONG\r\n:7\r\n-OOM no\r\n*2\r\n$1\r\na\r\n:3\r\n").ok());
  EXPECT_EQ((*reader.Next())->text(), "PONG");
  EXPECT_EQ((*reader.Next())->integer(), 7);
  const std::optional<Reply> error = *reader.Next();
  EXPECT_TRUE(error->is_error());
  EXPECT_EQ(error->text(), "OOM no");
  const std::optional<Reply> array = *reader.Next();
  EXPECT_EQ(array->size(), 2u);
  EXPECT_EQ(array->text(0), "a");
  EXPECT_EQ(array->integer(1), 3);
  EXPECT_EQ(array->text(2), "");
  EXPECT_THAT(array->texts(), ElementsAre("a", ""));
  EXPECT_FALSE(reader.Next()->has_value());
}

TEST(ReplyReaderTest, WaitsForTheWholeOfAReply) {
  const std::string_view whole = "*2\r\n$2\r\nab\r\n*1\r\n:5\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    ReplyReader reader;
    ASSERT_TRUE(reader.Feed(whole.substr(0, size)).ok());
    const auto part = reader.Next();
    ASSERT_TRUE(part.ok()) << size;
    ASSERT_FALSE(part->has_value()) << size;
    ASSERT_TRUE(reader.Feed(whole.substr(size)).ok());
    const auto reply = reader.Next();
    ASSERT_TRUE(reply.ok() && reply->has_value()) << size;
    EXPECT_THAT((*reply)->integers(1), ElementsAre(5));
  }
}

TEST(ReplyReaderTest, OtherProtocolsAreDamage) {
  ReplyReader reader;
  ASSERT_TRUE(reader.Feed("HTTP/1.1 400 Bad Request\r\n\r\n").ok());
  EXPECT_TRUE(absl::IsDataLoss(reader.Next().status()));
}

TEST(ReplyReaderTest, AReplyHasALimit) {
  ReplyReader reader;
  const std::string part(size_t{1} << 20, 'x');
  absl::Status status = reader.Feed("$200000000\r\n");
  for (int i = 0; i < 100 && status.ok(); ++i) status = reader.Feed(part);
  EXPECT_TRUE(absl::IsDataLoss(status));
}

}  // namespace
}  // namespace walpost
