#include "redis/stream_entry.h"

#include <chrono>
#include <string_view>

#include "base/reason_code.h"
#include "fmt/format.h"
#include "outbox/options.h"
#include "redis/resp.h"

namespace walpost {
namespace {

constexpr std::string_view kHeaderPrefix = "header.";

size_t SizeOf(const Record& record) {
  size_t bytes =
      record.key.value_or("").size() + record.value.value_or("").size() +
      record.id.value_or("").size() + record.type.value_or("").size();
  for (const RecordHeader& header : record.headers) {
    bytes += header.name.size() + header.value.value_or("").size();
  }
  return bytes;
}

std::string Milliseconds(WallTime time) {
  return fmt::format("{}", std::chrono::floor<std::chrono::milliseconds>(time)
                               .time_since_epoch()
                               .count());
}

absl::Status CheckLimits(const Record& record, size_t max_bytes) {
  const size_t bytes = SizeOf(record);
  if (bytes > max_bytes) {
    return Undeliverable(
        kReasonRecordTooLarge,
        fmt::format("an entry of {} bytes for stream {} is larger than "
                    "redis.max_entry_bytes ({})",
                    bytes, record.topic, max_bytes));
  }
  if (record.headers.size() > StreamEntry::kMaxHeaders) {
    return Undeliverable(
        kReasonRecordRefused,
        fmt::format("a record for stream {} has {} headers, and an entry has "
                    "at most {}",
                    record.topic, record.headers.size(),
                    StreamEntry::kMaxHeaders));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StreamEntry> StreamEntry::Of(const Record& record,
                                            size_t max_bytes) {
  if (absl::Status status = CheckLimits(record, max_bytes); !status.ok()) {
    return status;
  }
  absl::StatusOr<StreamEntry> made(absl::in_place);
  StreamEntry& entry = *made;
  if (record.position) entry.place = EntryId::Of(record.position->position);
  const auto add = [&entry](std::string_view name, const Value& value) {
    if (!value) return;
    AddArgument(name, entry.bytes);
    AddArgument(*value, entry.bytes);
    entry.arguments += 2;
  };
  Value id = record.id;
  for (const RecordHeader& header : record.headers) {
    if (!id && header.name == kIdHeader) id = header.value;
  }
  add("id", id);
  add("type", record.type);
  add("key", record.key);
  add("payload", record.value);
  const std::string timestamp = Milliseconds(record.timestamp);
  add("timestamp", timestamp);
  std::string name;
  for (const RecordHeader& header : record.headers) {
    if (header.name == kIdHeader && header.value == id) continue;
    name.assign(kHeaderPrefix).append(header.name);
    add(name, header.value);
  }
  return made;
}

}  // namespace walpost
