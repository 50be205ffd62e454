#include "cli/parked_text.h"

#include <string_view>

#include "base/utf8.h"
#include "cli/time_option.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace walpost {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr size_t kMaxShownBytes = size_t{1} << 20;

std::string Shown(const OwnValue& value) {
  return value ? ValidUtf8(*value, kMaxShownBytes) : "NULL";
}

void Put(JsonWriter& json, const char* name, std::string_view text) {
  json.Key(name);
  const std::string valid = ValidUtf8(text, kMaxShownBytes);
  json.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
}

void PutValue(JsonWriter& json, const char* name, const OwnValue& value) {
  if (value) return Put(json, name, *value);
  json.Key(name);
  json.Null();
}

std::string DecisionText(const ParkedEntry& entry) {
  if (!entry.decided_at) return "";
  return fmt::format("    decided {} by {}: {}\n",
                     FormatTime(*entry.decided_at), entry.decided_by,
                     entry.decided_why);
}

}  // namespace

std::string PositionOf(const ParkedEntry& entry) {
  const auto position = ParseSortableText(entry.place.position);
  return position.ok() ? ToString(*position) : entry.place.position;
}

std::string ParkedText(const ParkedEntry& entry, uint64_t behind) {
  const DeadLetter& content = entry.content;
  std::string text =
      fmt::format("{}  {}  id {}  key {}\n    committed {} in {}, {} bytes\n",
                  PositionOf(entry), ToString(entry.state), Shown(content.id),
                  Shown(content.aggregate_id), FormatTime(content.commit_time),
                  content.source, entry.payload_bytes);
  if (!content.error_class.empty()) {
    text += fmt::format("    {}: {}\n", content.error_class, content.reason);
  }
  if (behind > 0) text += fmt::format("    {} events wait behind it\n", behind);
  return text + DecisionText(entry);
}

std::string ParkedJson(const ParkedEntry& entry, uint64_t behind) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  const DeadLetter& content = entry.content;
  json.StartObject();
  Put(json, "position", PositionOf(entry));
  Put(json, "state", ToString(entry.state));
  Put(json, "class", content.error_class);
  Put(json, "reason", content.reason);
  Put(json, "source", content.source);
  PutValue(json, "id", content.id);
  PutValue(json, "key", content.aggregate_id);
  PutValue(json, "aggregate_type", content.aggregate_type);
  PutValue(json, "type", content.type);
  Put(json, "committed_at", FormatTime(content.commit_time));
  json.Key("payload_bytes");
  json.Uint64(entry.payload_bytes);
  json.Key("waiting_behind");
  json.Uint64(behind);
  if (entry.decided_at) {
    Put(json, "decided_by", entry.decided_by);
    Put(json, "decided_at", FormatTime(*entry.decided_at));
    Put(json, "why", entry.decided_why);
  }
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::string ParkedDetails(const ParkedEntry& entry, const OwnValue& payload) {
  const DeadLetter& content = entry.content;
  std::string text = ParkedText(entry, 0);
  const auto add = [&text](std::string_view name, const OwnValue& value) {
    text += fmt::format("    {:<15} {}\n", name, Shown(value));
  };
  add("aggregate_type", content.aggregate_type);
  add("type", content.type);
  add("headers", content.headers);
  for (const auto& [name, value] : content.columns) add(name, value);
  return text + fmt::format("\n{}\n\n", Shown(payload));
}

}  // namespace walpost
