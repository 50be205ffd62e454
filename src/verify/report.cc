#include "verify/report.h"

#include <algorithm>

#include "fmt/format.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace walpost {
namespace {

constexpr std::array<KindDescription, kFindingKinds> kKinds = {{
    {"missing", "committed, but not in {}"},
    {"unconfirmed", "pending: not in {}, and not confirmed yet"},
    {"expired",
     "no longer in {}: retention or compaction has deleted what was sent"},
    {"other_origin",
     "replicated to this server, and so not published here (postgres.origin: "
     "none)"},
    {"parked", "waits for an operator, or behind an event that does"},
    {"dead_letter", "has a dead letter, and is not in its topic"},
    {"discarded", "not in its topic, because somebody has discarded it"},
    {"skipped", "not in its topic, because somebody has skipped it"},
    {"not_in_table", "in {}, but not in the table (pruned, or deleted)"},
    {"newer", "committed while we read"},
    {"altered", "another value than the row's"},
    {"wrong_topic", "on another topic"},
    {"wrong_key", "with another key"},
    {"disorder", "out of order within their key"},
    {"split_key", "keys in several partitions of one topic"},
    {"moved_key",
     "keys that moved to another partition for good: partitions were added, "
     "or the partitioner is another one"},
    {"duplicates", "repeat an earlier record"},
    {"replayed", "marked as replayed"},
    {"without_id", "without the header id"},
    {"undecided", "could not be decided, or was not compared"},
}};

}  // namespace

const KindDescription& Describe(FindingKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

bool Report::is_clean() const {
  return std::ranges::none_of(findings, [](const FoundOfKind& found) {
    return found.is_error && found.count > 0;
  });
}

std::string Report::ToText() const {
  std::string text = fmt::format("{:>12} committed events\n{:>12} records\n",
                                 expected, records);
  for (size_t i = 0; i < kFindingKinds; ++i) {
    const FoundOfKind& found = findings[i];
    if (found.count == 0 && !found.is_error) continue;
    text += fmt::format("{:>12} {}: {}\n", found.count, kKinds[i].name,
                        fmt::format(fmt::runtime(kKinds[i].text), brokers));
    for (const std::string& example : found.examples) {
      text += fmt::format("{:>16}{}\n", "", example);
    }
  }
  text += order_judged_by == kNotChecked
              ? "order not checked: no header walpost-position, no --sequence\n"
              : fmt::format("order judged by {}\n", order_judged_by);
  if (!repairs_judged_by.empty()) {
    text += fmt::format("order of recovered and snapshot records {}{}\n",
                        repairs_judged_by == kNotChecked ? "" : "judged by ",
                        repairs_judged_by);
  }
  for (const std::string& note : notes) text += note + "\n";
  if (confirmed == Confirmed::kNotAll) {
    text +=
        "the slot has not confirmed all of it: is walpost running? Rows that "
        "may be on their way are reported as unconfirmed, not as missing\n";
  } else if (confirmed == Confirmed::kNeverWill) {
    text +=
        "the slot does not exist: rows without a record will not come, unless "
        "postgres.slot is wrong\n";
  }
  return text + (is_clean() ? "clean\n" : "NOT clean\n");
}

std::string Report::ToJson() const {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(buffer);
  const auto put_text = [&](std::string_view text) {
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  };
  json.StartObject();
  json.Key("clean");
  json.Bool(is_clean());
  json.Key("expected");
  json.Uint64(expected);
  json.Key("records");
  json.Uint64(records);
  json.Key("order_judged_by");
  put_text(order_judged_by);
  if (!repairs_judged_by.empty()) {
    json.Key("repairs_judged_by");
    put_text(repairs_judged_by);
  }
  json.Key("notes");
  json.StartArray();
  for (const std::string& note : notes) put_text(note);
  json.EndArray();
  json.Key("caught_up");
  json.Bool(confirmed == Confirmed::kAll);
  json.Key("findings");
  json.StartObject();
  for (size_t i = 0; i < kFindingKinds; ++i) {
    put_text(kKinds[i].name);
    json.StartObject();
    json.Key("count");
    json.Uint64(findings[i].count);
    json.Key("error");
    json.Bool(findings[i].is_error);
    json.Key("examples");
    json.StartArray();
    for (const std::string& example : findings[i].examples) put_text(example);
    json.EndArray();
    json.EndObject();
  }
  json.EndObject();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace walpost
