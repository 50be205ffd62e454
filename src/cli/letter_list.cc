#include "cli/letter_list.h"

#include <map>
#include <string_view>

#include "cli/json_line.h"
#include "cli/time_option.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Entry = LetterBook::Entry;
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
  std::string text = fmt::format(
      "{}  {}  id {}  key {}\n", ToString(entry.place), letter.error_class,
      ShownValue(letter.id), ShownValue(letter.aggregate_id));
  text += fmt::format(
      "    committed {} in {}, {} bytes{}\n", FormatTime(letter.commit_time),
      letter.source, letter.payload_bytes.value_or(entry.payload_size),
      letter.topic.empty() ? "" : ", for topic " + letter.topic);
  text += fmt::format("    {}\n", letter.reason);
  if (entry.decision) text += fmt::format("    {}\n", DecisionText(entry));
  return text;
}

std::string EntryJson(const Entry& entry) {
  JsonLine json;
  const DeadLetter& letter = entry.letter;
  json.Add("place", ToString(entry.place));
  json.Add("class", letter.error_class);
  json.Add("reason", letter.reason);
  json.Add("topic", letter.topic);
  json.Add("source", letter.source);
  json.Add("position", letter.position);
  json.AddValue("id", letter.id);
  json.AddValue("key", letter.aggregate_id);
  json.AddValue("aggregate_type", letter.aggregate_type);
  json.AddValue("type", letter.type);
  json.Add("committed_at", FormatTime(letter.commit_time));
  json.AddNumber("payload_bytes",
                 letter.payload_bytes.value_or(entry.payload_size));
  json.AddNumber("copies", entry.copies);
  json.Add("state", StateOf(entry));
  if (entry.decision) {
    json.Add("decided_by", entry.decision->by);
    json.Add("decided_at", FormatTime(entry.decision->at));
    json.Add("why", entry.decision->why);
  }
  return json.Finish();
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
  for (const Entry* entry : entries) text += EntryJson(*entry);
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
  add("id", ShownValue(letter.id));
  add("key", ShownValue(letter.aggregate_id));
  add("aggregate_type", ShownValue(letter.aggregate_type));
  add("type", ShownValue(letter.type));
  add("headers", ShownValue(letter.headers));
  for (const auto& [name, value] : letter.columns) add(name, ShownValue(value));
  if (letter.payload_bytes) {
    add("payload",
        fmt::format("(not whole, of {} bytes)", *letter.payload_bytes));
  }
  return text + fmt::format("\n{}\n\n", ShownValue(letter.payload));
}

}  // namespace walpost
