#include "cli/events/parked_text.h"

#include <string_view>

#include "base/own_arguments.h"
#include "cli/shared/json_line.h"
#include "cli/shared/time_option.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"

namespace walpost {
namespace {

std::string DecisionText(const ParkedEntry& entry) {
  if (!entry.decided_at) return "";
  return fmt::format("    decided {} by {}: {}\n{}",
                     FormatTime(*entry.decided_at), entry.decided_by,
                     entry.decided_why,
                     entry.may_be_sent ? WithOwnArguments(kMayBeSent) : "");
}

}  // namespace

std::string PositionOf(const ParkedEntry& entry) {
  const auto position = ParseSortableText(entry.position);
  return position.ok() ? ToString(*position) : entry.position;
}

std::string ParkedText(const ParkedEntry& entry, uint64_t behind) {
  const DeadLetter& content = entry.content;
  std::string text = fmt::format(
      "{}  {}  id {}  key {}\n    committed {} in {}, {} bytes\n",
      PositionOf(entry), ToString(entry.state), ShownValue(content.id),
      ShownValue(content.aggregate_id), FormatTime(content.commit_time),
      content.source, entry.payload_bytes);
  if (!content.error_class.empty()) {
    text += fmt::format("    {}: {}\n", content.error_class,
                        WithOwnArguments(content.reason));
  }
  if (!entry.isolated_topic.empty()) {
    text += fmt::format("    waits for topic {}\n", entry.isolated_topic);
  }
  if (behind > 0) text += fmt::format("    {} events wait behind it\n", behind);
  return text + DecisionText(entry);
}

std::string ParkedJson(const ParkedEntry& entry, uint64_t behind) {
  JsonLine json;
  const DeadLetter& content = entry.content;
  json.Add("position", PositionOf(entry));
  json.Add("state", ToString(entry.state));
  json.Add("class", content.error_class);
  json.Add("reason", WithOwnArguments(content.reason));
  json.Add("source", content.source);
  json.AddValue("id", content.id);
  json.AddValue("key", content.aggregate_id);
  json.AddValue("aggregate_type", content.aggregate_type);
  json.AddValue("type", content.type);
  json.Add("committed_at", FormatTime(content.commit_time));
  if (!entry.isolated_topic.empty()) {
    json.Add("isolated_topic", entry.isolated_topic);
  }
  json.AddNumber("payload_bytes", entry.payload_bytes);
  json.AddNumber("waiting_behind", behind);
  if (entry.decided_at) {
    json.Add("decided_by", entry.decided_by);
    json.Add("decided_at", FormatTime(*entry.decided_at));
    json.Add("why", entry.decided_why);
    if (entry.may_be_sent) json.Add("sent", "unknown");
  }
  return json.Finish();
}

std::string ParkedDetails(const ParkedEntry& entry, const OwnValue& payload) {
  const DeadLetter& content = entry.content;
  std::string text = ParkedText(entry, 0);
  const auto add = [&text](std::string_view name, const OwnValue& value) {
    text += fmt::format("    {:<15} {}\n", name, ShownValue(value));
  };
  add("aggregate_type", content.aggregate_type);
  add("type", content.type);
  add("headers", content.headers);
  for (const auto& [name, value] : content.columns) add(name, value);
  return text + fmt::format("\n{}\n\n", ShownValue(payload));
}

std::string DiscardedTooLate(const ParkedList::Decided& decided,
                             std::string_view list) {
  if (decided.sending == 0) return "";
  return fmt::format(
      "{} of them were on their way to the brokers, and may arrive there: "
      "walpost {} "
      "then shows them as sent\n",
      decided.sending, list);
}

}  // namespace walpost
