#include "cli/letter_list.h"

#include <map>
#include <string_view>

#include "base/utf8.h"
#include "cli/time_option.h"
#include "fmt/format.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace walpost {
namespace {

using Entry = LetterBook::Entry;
using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr size_t kMaxShownBytes = size_t{1} << 20;

std::string Shown(const OwnValue& value) {
  return value ? ValidUtf8(*value, kMaxShownBytes) : "NULL";
}

std::string_view StateOf(const Entry& entry) {
  if (entry.decision) return ToString(entry.decision->action);
  return "open";
}

std::string DecisionText(const Entry& entry) {
  return fmt::format("{} {} by {}: {}", ToString(entry.decision->action),
                     FormatTime(entry.decision->at), entry.decision->by,
                     entry.decision->why);
}

std::string Line(const Entry& entry) {
  const DeadLetter& letter = entry.letter;
  std::string text = fmt::format("{}  {}  id {}  key {}\n",
                                 ToString(entry.place), letter.error_class,
                                 Shown(letter.id), Shown(letter.aggregate_id));
  text += fmt::format(
      "    committed {} in {}, {} bytes{}\n", FormatTime(letter.commit_time),
      letter.source, letter.payload_bytes.value_or(entry.payload_size),
      letter.topic.empty() ? "" : ", for topic " + letter.topic);
  text += fmt::format("    {}\n", letter.reason);
  if (entry.decision) text += fmt::format("    {}\n", DecisionText(entry));
  return text;
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

std::string JsonLine(const Entry& entry) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  const DeadLetter& letter = entry.letter;
  json.StartObject();
  Put(json, "place", ToString(entry.place));
  Put(json, "class", letter.error_class);
  Put(json, "reason", letter.reason);
  Put(json, "topic", letter.topic);
  Put(json, "source", letter.source);
  Put(json, "position", letter.position);
  PutValue(json, "id", letter.id);
  PutValue(json, "key", letter.aggregate_id);
  PutValue(json, "aggregate_type", letter.aggregate_type);
  PutValue(json, "type", letter.type);
  Put(json, "committed_at", FormatTime(letter.commit_time));
  json.Key("payload_bytes");
  json.Uint64(letter.payload_bytes.value_or(entry.payload_size));
  json.Key("copies");
  json.Uint64(entry.copies);
  Put(json, "state", StateOf(entry));
  if (entry.decision) {
    Put(json, "decided_by", entry.decision->by);
    Put(json, "decided_at", FormatTime(entry.decision->at));
    Put(json, "why", entry.decision->why);
  }
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace

std::string LetterListText(std::span<const Entry* const> entries) {
  std::string text;
  std::map<std::string, uint64_t> sums;
  for (const Entry* entry : entries) {
    text += Line(*entry);
    ++sums[entry->decision ? std::string(ToString(entry->decision->action))
                           : entry->letter.error_class];
  }
  text += fmt::format("{} dead letters", entries.size());
  const char* separator = ": ";
  for (const auto& [what, count] : sums) {
    text += fmt::format("{}{} {}", separator, count, what);
    separator = ", ";
  }
  return text + "\n";
}

std::string LetterListJson(std::span<const Entry* const> entries) {
  std::string text;
  for (const Entry* entry : entries) text += JsonLine(*entry);
  return text;
}

std::string LetterText(const LetterPlace& place, const DeadLetter& letter) {
  std::string text = fmt::format("{}\n", ToString(place));
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("  {:<15} {}\n", name, value);
  };
  add("class", letter.error_class);
  add("reason", letter.reason);
  add("topic", letter.topic);
  add("source", letter.source);
  add("position", letter.position);
  add("committed", FormatTime(letter.commit_time));
  add("id", Shown(letter.id));
  add("key", Shown(letter.aggregate_id));
  add("aggregate_type", Shown(letter.aggregate_type));
  add("type", Shown(letter.type));
  add("headers", Shown(letter.headers));
  for (const auto& [name, value] : letter.columns) add(name, Shown(value));
  if (letter.payload_bytes) {
    add("payload",
        fmt::format("(not whole, of {} bytes)", *letter.payload_bytes));
  }
  return text + fmt::format("\n{}\n\n", Shown(letter.payload));
}

}  // namespace walpost
