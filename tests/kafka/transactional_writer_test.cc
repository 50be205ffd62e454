// Against a mock cluster, which has no epochs: what follows a record that the
// brokers reject is in tests/e2e.
#include "kafka/producer/transactional_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/reason_code.h"
#include "delivery/gap.h"
#include "support/mock_kafka.h"

namespace walpost {
namespace {

using testing::MockKafka;

Record MakeRecord(std::string_view value) {
  Record record;
  record.topic = "t";
  record.key = "k";
  record.value = value;
  return record;
}

class TransactionalWriterTest : public ::testing::Test {
 protected:
  TransactionalWriterTest() { kafka_.CreateTopic("t", 1); }

  std::unique_ptr<TransactionalWriter> Open() {
    ProducerOptions options;
    options.brokers = kafka_.brokers();
    auto writer = TransactionalWriter::Open(options, "id");
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  MockKafka kafka_;
};

TEST_F(TransactionalWriterTest, WritesOneTransactionAfterTheOther) {
  const auto writer = Open();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(writer->Begin().ok());
    ASSERT_TRUE(writer->Write(MakeRecord("a"), std::nullopt).ok());
    ASSERT_TRUE(writer->Write(MakeRecord("b"), 0).ok());
    const absl::Status committed = writer->Commit();
    ASSERT_TRUE(committed.ok()) << committed;
  }
}

// librdkafka wants one request to fit into a transaction.
TEST_F(TransactionalWriterTest, HasTheTimeoutOfTheConfiguration) {
  ProducerOptions options;
  options.brokers = kafka_.brokers();
  options.transaction_timeout = std::chrono::seconds(30);
  options.properties.emplace_back("socket.timeout.ms", "120000");
  const auto writer = TransactionalWriter::Open(options, "id");
  EXPECT_TRUE(writer.ok()) << writer.status();
}

TEST_F(TransactionalWriterTest, GoesOnAfterARecordThatIsTooLarge) {
  const auto writer = Open();
  const std::string wide(2'000'000, 'x');
  ASSERT_TRUE(writer->Begin().ok());
  const absl::Status refused = writer->Write(MakeRecord(wide), std::nullopt);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  ASSERT_TRUE(writer->Abort().ok());
  ASSERT_TRUE(writer->Begin().ok());
  ASSERT_TRUE(writer->Write(MakeRecord("a"), std::nullopt).ok());
  const absl::Status committed = writer->Commit();
  EXPECT_TRUE(committed.ok()) << committed;
}

TEST_F(TransactionalWriterTest, NotesTheOffsetsOfTheWatchedTopic) {
  kafka_.CreateTopic("u", 1);
  PartitionOffsets offsets;
  const auto writer = Open();
  writer->WatchOffsets("t", offsets);
  ASSERT_TRUE(writer->Begin().ok());
  Record other = MakeRecord("a");
  other.topic = "u";
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(writer->Write(other, std::nullopt).ok());
  }
  ASSERT_TRUE(writer->Write(MakeRecord("a"), std::nullopt).ok());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_THAT(offsets.newest(), ::testing::ElementsAre(0));
}

TEST_F(TransactionalWriterTest, P9CommitsNothingToATopicThatWasReplaced) {
  PartitionOffsets offsets;
  offsets.Advance(0, 41);
  const auto writer = Open();
  writer->WatchOffsets("t", offsets);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(writer->Begin().ok());
    ASSERT_TRUE(writer->Write(MakeRecord("a"), std::nullopt).ok());
    const absl::Status committed = writer->Commit();
    EXPECT_TRUE(absl::IsFailedPrecondition(committed)) << committed;
    EXPECT_EQ(ReasonCodeOf(committed), kGapKafkaReplaced);
    ASSERT_TRUE(writer->Abort().ok());
  }
  EXPECT_THAT(offsets.newest(), ::testing::ElementsAre(41));
}

}  // namespace
}  // namespace walpost
