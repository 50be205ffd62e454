#include "redis/script_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/resp.h"

namespace walpost {
namespace {

// The words of a call, without the script.
std::vector<std::string> WordsOf(const std::string& bytes) {
  ReplyReader reader;
  EXPECT_TRUE(reader.Feed(bytes).ok());
  const std::optional<Reply> reply = *reader.Next();
  std::vector<std::string> words;
  for (const std::string_view text : reply->texts()) words.emplace_back(text);
  EXPECT_FALSE(reader.Next()->has_value());
  return words;
}

TEST(ScriptCallsTest, ACallHasTheBatchOfAStream) {
  EntryQueues queues;
  StreamEntry entry{EntryId{7, 1}, 2, ""};
  AddArgument("id", entry.bytes);
  AddArgument("a", entry.bytes);
  queues.Add("orders", 1, entry);
  entry.place.reset();
  queues.Add("orders", 2, entry);
  StreamTops tops;
  tops.OnAcknowledged("orders", {6, 1});
  RedisOptions options;
  options.max_entries = 100;
  options.create = false;
  ScriptCalls calls;
  std::string bytes;
  calls.Add(queues.NextRound({})[0], tops, options, bytes);
  std::vector<std::string> words = WordsOf(bytes);
  EXPECT_EQ(words[0], "EVAL");
  words.erase(words.begin(), words.begin() + 2);
  EXPECT_THAT(
      words, ::testing::ElementsAre("1", "orders", "6-1", "100", "0", "", "7-1",
                                    "2", "id", "a", "", "2", "id", "a"));
}

TEST(ScriptCallsTest, TheTextIsSentOnceUnlessItIsForgotten) {
  EntryQueues::Queue queue;
  queue.stream = "orders";
  const EntryQueues::Batch none{&queue, 0};
  ScriptCalls calls;
  const auto first_word = [&] {
    std::string bytes;
    calls.Add(none, {}, {}, bytes);
    return WordsOf(bytes)[0];
  };
  EXPECT_EQ(first_word(), "EVAL");
  EXPECT_EQ(first_word(), "EVALSHA");
  calls.Forget();
  EXPECT_EQ(first_word(), "EVAL");
}

}  // namespace
}  // namespace walpost
