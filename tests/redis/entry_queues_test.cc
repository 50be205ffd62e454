#include "redis/entry_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/resp.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const MonotonicTime kNow{std::chrono::seconds(100)};
const MonotonicTime kLater{std::chrono::seconds(101)};

StreamEntry EntryOf(size_t bytes = 10) {
  return {EntryId{7, 1}, 0, std::string(bytes, 'x')};
}

BatchResult Done(size_t done, std::string error = "") {
  return {std::move(error), done, EntryId{7, done}, 0, ""};
}

TEST(EntryQueuesTest, ARoundHasABatchOfEachStream) {
  EntryQueues queues;
  queues.Add("a", 1, EntryOf());
  queues.Add("b", 2, EntryOf());
  queues.Add("a", 3, EntryOf());
  const auto round = queues.NextRound(kNow);
  ASSERT_THAT(round, SizeIs(2));
  EXPECT_EQ(round[0].queue->stream, "a");
  EXPECT_EQ(round[0].count, 2u);
  EXPECT_EQ(round[1].queue->stream, "b");
}

TEST(EntryQueuesTest, WrittenRecordsAreTakenOnce) {
  EntryQueues queues;
  queues.Add("a", 1, EntryOf());
  queues.Add("a", 2, EntryOf());
  const auto round = queues.NextRound(kNow);
  queues.OnResult(round[0], Done(2), kLater);
  EXPECT_FALSE(queues.empty());  // nobody has taken them
  const auto written = queues.TakeWritten();
  ASSERT_THAT(written, SizeIs(1));
  EXPECT_THAT(written[0].sequences, ElementsAre(1, 2));
  EXPECT_EQ(written[0].newest, (EntryId{7, 2}));
  EXPECT_TRUE(queues.empty());
  EXPECT_THAT(queues.NextRound(kNow), IsEmpty());
}

// P3: nothing of the stream overtakes the record with the error.
TEST(EntryQueuesTest, P3AStreamGoesOnWithTheRecordThatFailed) {
  EntryQueues queues;
  for (Sequence i = 1; i <= 3; ++i) queues.Add("a", i, EntryOf());
  queues.Add("b", 4, EntryOf());
  auto round = queues.NextRound(kNow);
  queues.OnResult(round[0], Done(1, "OOM"), kLater);
  queues.OnResult(round[1], Done(1), kLater);
  EXPECT_THAT(queues.NextRound(kNow), IsEmpty());  // a is paused
  EXPECT_EQ(queues.NextAttempt(kLater + std::chrono::seconds(9)), kLater);
  queues.Add("a", 5, EntryOf());
  round = queues.NextRound(kLater);
  ASSERT_THAT(round, SizeIs(1));
  EXPECT_EQ(round[0].count, 3u);
  queues.OnResult(round[0], Done(3), kLater);
  const auto written = queues.TakeWritten();
  EXPECT_THAT(written.back().sequences, ElementsAre(2, 3, 5));
}

TEST(EntryQueuesTest, ARoundIsLimited) {
  EntryQueues queues;
  for (Sequence i = 0; i < 1'500; ++i) queues.Add("a", i, EntryOf());
  queues.Add("b", 1'500, EntryOf());
  EXPECT_EQ(queues.NextRound(kNow)[0].count, EntryQueues::kMaxRoundEntries);
  // The next round begins with the other stream.
  EXPECT_EQ(queues.NextRound(kNow)[0].queue->stream, "b");
}

TEST(EntryQueuesTest, ALargeRecordGoesAlone) {
  EntryQueues queues;
  queues.Add("a", 1, EntryOf(2 * EntryQueues::kMaxRoundBytes));
  queues.Add("a", 2, EntryOf());
  const auto round = queues.NextRound(kNow);
  ASSERT_THAT(round, SizeIs(1));
  EXPECT_EQ(round[0].count, 1u);
}

TEST(EntryQueuesTest, IsFullByBytes) {
  EntryQueues queues;
  queues.Add("a", 1, EntryOf(EntryQueues::kMaxBytes));
  EXPECT_FALSE(queues.HasRoom());
  queues.OnResult(queues.NextRound(kNow)[0], Done(1), kLater);
  EXPECT_TRUE(queues.HasRoom());
}

TEST(EntryQueuesTest, TakeAllHasWrittenAndWaitingRecords) {
  EntryQueues queues;
  for (Sequence i = 1; i <= 3; ++i) queues.Add("a", i, EntryOf());
  queues.Add("b", 4, EntryOf());
  queues.OnResult(queues.NextRound(kNow)[0], Done(2, "OOM"), kLater);
  EXPECT_THAT(queues.TakeAll(), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(queues.empty());
}

TEST(EntryQueuesTest, TheFirstRecordCanBeTakenOut) {
  EntryQueues queues;
  queues.Add("a", 1, EntryOf());
  queues.Add("a", 2, EntryOf());
  auto round = queues.NextRound(kNow);
  queues.OnResult(round[0], Done(0, "ERR"), kLater);
  EXPECT_EQ(queues.TakeFirst(*round[0].queue), 1u);
  EXPECT_THAT(queues.TakeAll(), ElementsAre(2));
}

TEST(EntryQueuesTest, CountsByStream) {
  EntryQueues queues;
  queues.Add("b", 1, EntryOf());
  queues.Add("a", 2, EntryOf());
  for (const auto& batch : queues.NextRound(kNow)) {
    queues.OnResult(batch, Done(1), kLater);
  }
  for (const auto& written : queues.TakeWritten()) {
    queues.CountAcknowledged(written);
  }
  std::string text;
  queues.Acknowledged().ForEach([&](std::string_view name, uint64_t count) {
    text += std::string(name) + "=" + std::to_string(count) + " ";
  });
  EXPECT_EQ(text, "b=1 a=1 ");
}

}  // namespace
}  // namespace walpost
