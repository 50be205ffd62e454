#include "kafka/producer/topic.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

Record RecordOf(std::optional<int32_t> partition) {
  Record record;
  record.topic = "orders";
  record.key = "k";
  record.partition = partition;
  return record;
}

// The partition was chosen by key, so it was there: the topic is gone.
TEST(TopicTest, ThePartitionOfAKeyIsNotLackedButLost) {
  PartitionOffsets offsets;
  Topic topic(offsets);
  topic.OnProduced(RecordOf(std::nullopt), 1);
  EXPECT_FALSE(topic.LacksNamedPartition());
}

TEST(TopicTest, ANamedPartitionIsLackedUntilTheTopicIsKnown) {
  PartitionOffsets offsets;
  Topic topic(offsets);
  topic.OnProduced(RecordOf(0), 1);
  EXPECT_TRUE(topic.LacksNamedPartition());
  topic.OnAcknowledged(0, 1);
  topic.OnProduced(RecordOf(1), 2);
  EXPECT_FALSE(topic.LacksNamedPartition()) << "it is known: refused at once";
}

}  // namespace
}  // namespace walpost
