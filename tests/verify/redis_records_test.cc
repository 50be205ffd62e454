#include "verify/redis_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "redis/redis_client.h"
#include "support/redis_server.h"
#include "verify/published_text.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;

class RedisRecordsTest : public ::testing::Test {
 protected:
  RedisRecords Records() {
    RedisOptions options;
    options.address = "127.0.0.1:" + std::to_string(server_.port());
    auto client = RedisClient::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status();
    const AskRedis ask = [client = std::shared_ptr<RedisClient>(*std::move(
                              client))](const std::vector<std::string>& command)
        -> absl::StatusOr<RedisReplyHandle> {
      WALPOST_ASSIGN_OR_RETURN(Reply reply, client->Ask(command));
      return RedisReplyHandle(std::move(reply).Release());
    };
    return RedisRecords({.ask_of =
                             [ask](const std::string&,
                                   const std::vector<std::string>& command) {
                               return ask(command);
                             },
                         .masters = [ask] { return std::vector{ask}; },
                         .user = "reader"});
  }

  testing::RedisServer server_;
};

TEST_F(RedisRecordsTest, StreamsAreFoundByNameAndByTheirBeginning) {
  for (const char* stream : {"a*b.x", "aab.x", "a*b.y", "other"}) {
    server_.Ask({"XADD", stream, "*", "id", "1"});
  }
  server_.Ask({"SET", "a*b.text", "no stream"});
  RedisRecords records = Records();
  EXPECT_THAT(*records.FindTopics({"other", "none", "a*b.text"}, {"a*b."}),
              ElementsAre("a*b.x", "a*b.y", "other"));
  EXPECT_THAT(*records.FindTopics({}, {""}),
              ElementsAre("a*b.x", "a*b.y", "aab.x", "other"));
}

TEST_F(RedisRecordsTest, P11AllPartsOfAnEntryAreRead) {
  server_.Ask({"XADD", "s", "5-1", "id", "7", "key", "k", "payload", "",
               "header.id", "other", "header.walpost-position", "p",
               "header.walpost-replay", "r"});
  server_.Ask({"XADD", "s", "5-2", "type", "t"});
  RedisRecords records = Records();
  EXPECT_THAT(testing::TextsOf(records, {"s"}),
              ElementsAre("s@0 id=7 key=k value= position=p replayed",
                          "s@1 id=- key=- value=- position=-"));
  EXPECT_EQ(records.total(), 2);
}

// More than a reply has, and what comes meanwhile is left to another time.
TEST_F(RedisRecordsTest, P11TheEndIsThatOfTheBeginning) {
  server_.Ask({"EVAL",
               "for i = 1, 1203 do redis.call('XADD', 's', i .. '-1', 'id', i) "
               "end",
               "0"});
  RedisRecords records = Records();
  int count = 0;
  const absl::Status read = records.Read({"s"}, [&](FoundRecord& record) {
    EXPECT_EQ(record.id, std::to_string(++count));
    EXPECT_EQ(record.offset, count - 1);
    server_.Ask({"XADD", "s", "*", "id", "new"});
    return absl::OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(count, 1203);
}

TEST_F(RedisRecordsTest, P11WhatWasDeletedIsCounted) {
  for (const char* stream : {"all", "some", "none"}) {
    for (int i = 0; i < 5; ++i) server_.Ask({"XADD", stream, "*", "id", "1"});
  }
  server_.Ask({"XTRIM", "all", "MAXLEN", "0"});
  server_.Ask({"XTRIM", "some", "MAXLEN", "2"});
  RedisRecords records = Records();
  bool may_be_some = false;
  EXPECT_THAT(
      testing::DeletedFrom(records, {"all", "some", "none"}, &may_be_some),
      ElementsAre("all 5", "none 0", "some 3"));
  EXPECT_TRUE(may_be_some);
  testing::DeletedFrom(records, {"none"}, &may_be_some);
  EXPECT_FALSE(may_be_some);
}

TEST_F(RedisRecordsTest, WhatIsRefusedIsSaid) {
  server_.Ask({"SET", "s", "no stream"});
  RedisRecords records = Records();
  const absl::Status read =
      records.Read({"s"}, [](FoundRecord&) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsUnavailable(read)) << read;
  EXPECT_THAT(std::string(read.message()),
              ::testing::HasSubstr("XINFO STREAM s: WRONGTYPE"));
}

}  // namespace
}  // namespace walpost
