#include "cli/events/letter_list.h"

#include <map>
#include <string_view>

#include "base/own_arguments.h"
#include "cli/events/parked_text.h"
#include "cli/shared/json_line.h"
#include "cli/shared/time_option.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string_view StateOf(ParkedState state) {
  switch (state) {
    case ParkedState::kLetterRetry:
      return "retry";
    case ParkedState::kLetterRetried:
      return "retried";
    case ParkedState::kLetterDiscarded:
      return "discarded";
    case ParkedState::kLetter:
    case ParkedState::kDead:
    case ParkedState::kWaiting:
    case ParkedState::kRetry:
    case ParkedState::kReleased:
    case ParkedState::kDiscarded:
      break;
  }
  return "open";
}

std::string Line(const ShownLetter& shown) {
  const DeadLetter& letter = *shown.letter;
  std::string text =
      fmt::format("{}  {}  id {}  key {}\n", shown.place, letter.error_class,
                  ShownValue(letter.id), ShownValue(letter.aggregate_id));
  text += fmt::format(
      "    committed {} in {}, {} bytes{}\n", FormatTime(letter.commit_time),
      letter.source, shown.payload_bytes,
      letter.topic.empty() ? "" : ", for topic " + letter.topic);
  text += fmt::format("    {}\n", WithOwnArguments(letter.reason));
  if (shown.decision) {
    text += fmt::format("    {} {} by {}: {}\n", shown.state,
                        FormatTime(shown.decision->at), shown.decision->by,
                        shown.decision->why);
  }
  if (shown.may_be_sent) text += WithOwnArguments(kMayBeSent);
  return text;
}

std::string EntryJson(const ShownLetter& shown) {
  JsonLine json;
  const DeadLetter& letter = *shown.letter;
  json.Add("place", shown.place);
  json.Add("class", letter.error_class);
  json.Add("reason", WithOwnArguments(letter.reason));
  json.Add("topic", letter.topic);
  json.Add("source", letter.source);
  json.Add("position", shown.position);
  json.AddValue("id", letter.id);
  json.AddValue("key", letter.aggregate_id);
  json.AddValue("aggregate_type", letter.aggregate_type);
  json.AddValue("type", letter.type);
  json.Add("committed_at", FormatTime(letter.commit_time));
  json.AddNumber("payload_bytes", shown.payload_bytes);
  json.AddNumber("copies", shown.copies);
  json.Add("state", shown.state);
  if (shown.decision) {
    json.Add("decided_by", shown.decision->by);
    json.Add("decided_at", FormatTime(shown.decision->at));
    json.Add("why", shown.decision->why);
    if (shown.may_be_sent) json.Add("sent", "unknown");
  }
  return json.Finish();
}

}  // namespace

ShownLetter::ShownLetter(const DeadLetterIndex::Entry& entry)
    : place(ToString(entry.place)),
      position(entry.letter.position),
      letter(&entry.letter),
      copies(entry.copies),
      payload_bytes(entry.letter.payload_bytes.value_or(entry.payload_size)) {
  if (!entry.decision) return;
  state = ToString(entry.decision->action);
  decision = {entry.decision->by, entry.decision->why, entry.decision->at};
}

ShownLetter::ShownLetter(const ParkedEntry& entry)
    : place(PositionOf(entry)),
      position(place),
      letter(&entry.content),
      payload_bytes(entry.content.payload_bytes.value_or(entry.payload_bytes)),
      state(StateOf(entry.state)),
      may_be_sent(entry.may_be_sent) {
  if (state == "open" || !entry.decided_at) return;
  decision = {entry.decided_by, entry.decided_why, *entry.decided_at};
}

std::string LetterListText(std::span<const ShownLetter> letters) {
  std::string text;
  std::map<std::string, uint64_t> sums;
  for (const ShownLetter& shown : letters) {
    text += Line(shown);
    ++sums[shown.decision ? shown.state : shown.letter->error_class];
  }
  text += fmt::format("{} dead letters", letters.size());
  const char* separator = ": ";
  for (const auto& [what, count] : sums) {
    text += fmt::format("{}{} {}", separator, count, what);
    separator = ", ";
  }
  return text + "\n";
}

std::string LetterListJson(std::span<const ShownLetter> letters) {
  std::string text;
  for (const ShownLetter& shown : letters) text += EntryJson(shown);
  return text;
}

std::string LetterText(const std::string& place, const DeadLetter& letter) {
  std::string text = fmt::format("{}\n", place);
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("  {:<15} {}\n", name, value);
  };
  add("class", letter.error_class);
  add("reason", WithOwnArguments(letter.reason));
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
