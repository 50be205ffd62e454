#include "redis/stream_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/reason_code.h"
#include "redis/resp.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The fields, as the server gets them.
std::vector<std::string> FieldsOf(const StreamEntry& entry) {
  ReplyReader reader;
  std::string bytes;
  BeginCommand(entry.arguments, bytes);
  EXPECT_TRUE(reader.Feed(bytes + entry.bytes).ok());
  auto reply = reader.Next();
  EXPECT_TRUE(reply.ok() && reply->has_value());
  std::vector<std::string> fields;
  for (const std::string_view text : (*reply)->texts()) {
    fields.emplace_back(text);
  }
  return fields;
}

TEST(StreamEntryTest, HasTheFieldsOfTheRecord) {
  const RecordHeader headers[] = {{"id", "7"}, {"trace", "t1"}, {"none", {}}};
  Record record;
  record.topic = "orders";
  record.id = "7";
  record.type = "paid";
  record.key = "o-1";
  record.value = "{}";
  record.headers = headers;
  record.timestamp = WallTime(std::chrono::microseconds(1'500'999));
  record.position = TimelinePosition{1, {Lsn(16), 1}};
  const auto entry = StreamEntry::Of(record, 1'000);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->place, (EntryId{16, 1 << 20}));
  EXPECT_THAT(FieldsOf(*entry),
              ElementsAre("id", "7", "type", "paid", "key", "o-1", "payload",
                          "{}", "timestamp", "1500", "header.trace", "t1"));
}

TEST(StreamEntryTest, LeavesOutWhatIsNull) {
  const auto entry = StreamEntry::Of(Record(), 1'000);
  ASSERT_TRUE(entry.ok());
  EXPECT_FALSE(entry->place);
  EXPECT_THAT(FieldsOf(*entry), ElementsAre("timestamp", "0"));
}

TEST(StreamEntryTest, KeepsEmptyAndBinaryValues) {
  const std::string binary("\r\n\0*1", 5);
  Record record;
  record.key = "";
  record.value = binary;
  const auto entry = StreamEntry::Of(record, 1'000);
  ASSERT_TRUE(entry.ok());
  EXPECT_THAT(FieldsOf(*entry),
              ElementsAre("key", "", "payload", binary, "timestamp", "0"));
}

// The dead letters have their event's id in a header alone.
TEST(StreamEntryTest, TakesTheIdFromItsHeader) {
  const RecordHeader headers[] = {{"id", "7"}};
  Record record;
  record.headers = headers;
  EXPECT_THAT(FieldsOf(*StreamEntry::Of(record, 1'000)),
              ElementsAre("id", "7", "timestamp", "0"));
}

TEST(StreamEntryTest, RejectsWhatIsTooLarge) {
  const std::string value(100, 'x');
  Record record;
  record.topic = "orders";
  record.value = value;
  EXPECT_TRUE(StreamEntry::Of(record, 100).ok());
  const absl::Status status = StreamEntry::Of(record, 99).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(ReasonCodeOf(status), kReasonRecordTooLarge);
}

TEST(StreamEntryTest, RejectsMoreHeadersThanLuaTakes) {
  const std::vector<RecordHeader> headers(StreamEntry::kMaxHeaders + 1,
                                          RecordHeader{"h", "v"});
  Record record;
  record.headers = headers;
  const absl::Status status = StreamEntry::Of(record, 1 << 20).status();
  EXPECT_EQ(ReasonCodeOf(status), kReasonRecordRefused);
}

}  // namespace
}  // namespace walpost
