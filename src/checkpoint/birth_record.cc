#include "checkpoint/birth_record.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/xid.h"
#include "checkpoint/coverage.h"
#include "checkpoint/escaped_name.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr size_t kBirthWords = 9;
constexpr char kBirthTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";
constexpr char kNoTable[] = "-";

// In whole seconds; a part of one counts as a whole.
std::string ToText(WallTime time) {
  const absl::Time rounded = absl::FromUnixMicros(
      std::chrono::ceil<std::chrono::seconds>(time).time_since_epoch() /
      std::chrono::microseconds(1));
  return absl::FormatTime(kBirthTimeFormat, rounded, absl::UTCTimeZone());
}

std::optional<WallTime> ParseTime(const std::string& text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(kBirthTimeFormat, text, &time, &error))
    return std::nullopt;
  return WallTime(std::chrono::microseconds(absl::ToUnixMicros(time)));
}

// Names are escaped as in a coverage.
std::string ToText(const std::vector<AddedTable>& added) {
  if (added.empty()) return kNoTable;
  std::string text;
  for (const AddedTable& table : added) {
    const Coverage entry{"", {{table.name, table.definition}}};
    text += fmt::format("{}@{}@{}", entry.ToString(), table.since.ToString(),
                        table.from_transaction);
    if (table.sent_since) text += "@" + ToText(*table.sent_since);
  }
  return text.substr(1);
}

// An entry that cannot be read is missing: then less is known.
std::vector<AddedTable> ParseAdded(const std::string& text) {
  std::vector<AddedTable> added;
  const std::vector<std::string> entries = absl::StrSplit(text, ',');
  for (const std::string& entry : entries) {
    const std::vector<std::string> words = absl::StrSplit(entry, '@');
    const Coverage parsed = Coverage::Parse("," + words.front());
    AddedTable table;
    if (words.size() < 3 || parsed.tables.size() != 1 ||
        !absl::SimpleAtoi(words[2], &table.from_transaction)) {
      continue;
    }
    table.name = parsed.tables.front().name;
    table.definition = parsed.tables.front().definition;
    table.since = Lsn::Parse(words[1]).value_or(Lsn());
    if (words.size() > 3) table.sent_since = ParseTime(words[3]);
    added.push_back(std::move(table));
  }
  return added;
}

std::string ToLine(const BirthRecord& record) {
  std::string line =
      fmt::format("walpost: slot {} born at {} of system {}", record.slot,
                  record.consistent_point.ToString(), record.system_identifier);
  if (record.timeline > 0) line += fmt::format(" timeline={}", record.timeline);
  if (record.streamed_from > 0) {
    line += fmt::format(" from={} at={}", record.streamed_from,
                        ToText(record.born_at));
  }
  if (!record.coverage.empty()) line += " coverage=" + record.coverage;
  if (record.added) line += " added=" + ToText(*record.added);
  if (!record.kafka_cluster.empty()) line += " kafka=" + record.kafka_cluster;
  if (!record.parked_table.name.empty()) {
    line += fmt::format(" parked={}:{}", EscapeName(record.parked_table.name),
                        record.parked_table.oid);
  }
  if (!record.letter_topics.empty()) {
    line += " letters=" + absl::StrJoin(record.letter_topics, ",",
                                        [](std::string* text, const auto& it) {
                                          *text += EscapeName(it);
                                        });
  }
  if (!record.gap.empty()) line += " gap=" + record.gap;
  return line;
}

// Parses an optional word. A value that cannot be read counts as missing: then
// less is known.
void ParseWord(std::string_view word, BirthRecord& record) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view key = word.substr(0, equals);
  const std::string value(word.substr(equals + 1));
  if (key == "timeline" && !absl::SimpleAtoi(value, &record.timeline)) {
    record.timeline = 0;
  }
  if (key == "from" && !absl::SimpleAtoi(value, &record.streamed_from)) {
    record.streamed_from = 0;
  }
  if (key == "at") {
    const std::optional<WallTime> time = ParseTime(value);
    if (time) {
      record.born_at = *time;
    } else {
      record.streamed_from = 0;
    }
  }
  if (key == "coverage") record.coverage = value;
  if (key == "added") record.added = ParseAdded(value);
  if (key == "kafka") record.kafka_cluster = value;
  if (key == "parked") {
    const size_t colon = value.find(':');
    ParkedTable table{UnescapeName(value.substr(0, colon)), 0};
    const bool has_oid = colon != std::string::npos &&
                         absl::SimpleAtoi(value.substr(colon + 1), &table.oid);
    if (has_oid) record.parked_table = std::move(table);
  }
  if (key == "letters") {
    for (const absl::string_view topic : absl::StrSplit(value, ',')) {
      record.letter_topics.push_back(UnescapeName(std::string(topic)));
    }
  }
  if (key == "gap") record.gap = value;
}

std::optional<BirthRecord> ParseBirth(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words.size() < kBirthWords || words[0] != "walpost:" ||
      words[1] != "slot" || words[3] != "born" || words[7] != "system") {
    return std::nullopt;
  }
  const auto lsn = Lsn::Parse(words[5]);
  if (!lsn.ok()) return std::nullopt;
  BirthRecord record;
  record.slot = words[2];
  record.consistent_point = *lsn;
  record.system_identifier = words[8];
  for (size_t i = kBirthWords; i < words.size(); ++i) {
    ParseWord(words[i], record);
  }
  return record;
}

// Replaces the line of the record's slot.
std::string WithLine(std::string_view comment, const BirthRecord& record) {
  std::vector<std::string> kept;
  if (!comment.empty()) {
    const std::vector<std::string> lines =
        absl::StrSplit(std::string(comment), '\n');
    for (const std::string& line : lines) {
      const std::optional<BirthRecord> other = ParseBirth(line);
      if (!other || other->slot != record.slot) kept.push_back(line);
    }
  }
  kept.push_back(ToLine(record));
  return absl::StrJoin(kept, "\n");
}

}  // namespace

std::optional<BirthRecord> FindBirthRecord(std::string_view comment,
                                           std::string_view slot) {
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(comment), '\n');
  for (const std::string& line : lines) {
    std::optional<BirthRecord> record = ParseBirth(line);
    if (record && record->slot == slot) return record;
  }
  return std::nullopt;
}

std::string WithBirthRecord(std::string_view comment,
                            const BirthRecord& record) {
  BirthRecord merged = record;
  const auto before = FindBirthRecord(comment, record.slot);
  if (before && record.parked_table.name.empty()) {
    merged.parked_table = before->parked_table;
  }
  if (before && record.letter_topics.empty()) {
    merged.letter_topics = before->letter_topics;
  }
  return WithLine(comment, merged);
}

std::optional<std::string> WithParkedTable(std::string_view comment,
                                           std::string_view slot,
                                           ParkedTable parked_table) {
  std::optional<BirthRecord> record = FindBirthRecord(comment, slot);
  if (!record) return std::nullopt;
  record->parked_table = std::move(parked_table);
  return WithLine(comment, *record);
}

std::optional<std::string> WithLetterTopic(std::string_view comment,
                                           std::string_view slot,
                                           const std::string& topic) {
  std::optional<BirthRecord> record = FindBirthRecord(comment, slot);
  if (!record || std::ranges::count(record->letter_topics, topic) > 0) {
    return std::nullopt;
  }
  record->letter_topics.push_back(topic);
  return WithLine(comment, *record);
}

std::string CoverageOf(const BirthRecord& record, Announced announced) {
  if (!record.added || record.coverage.empty()) return record.coverage;
  Coverage coverage = Coverage::Parse(record.coverage);
  for (const AddedTable& table : *record.added) {
    if (!table.is_taken_up() && announced == Announced::kNo) continue;
    coverage.tables.push_back({table.name, table.definition});
  }
  return coverage.ToString();
}

const AddedTable* FindAdded(const BirthRecord& record, std::string_view name) {
  if (!record.added) return nullptr;
  const auto found = std::ranges::find(*record.added, name, &AddedTable::name);
  return found == record.added->end() ? nullptr : &*found;
}

void ContinueProof(BirthRecord& record, const BirthRecord& before) {
  const Coverage born = Coverage::Parse(before.coverage);
  const Coverage known = Coverage::Parse(CoverageOf(before, Announced::kNo));
  Coverage now = Coverage::Parse(record.coverage);
  Coverage kept{now.publication, {}, now.passed_over};
  std::vector<AddedTable> added;
  for (const Coverage::Table& table : now.tables) {
    const Coverage only{"", {table}};
    const AddedTable* known_as = FindAdded(before, table.name);
    if (AddedTables(born, only).empty()) {
      kept.tables.push_back(table);
    } else if (known_as != nullptr && AddedTables(known, only).empty()) {
      added.push_back(*known_as);
      added.back().definition = table.definition;
    } else {
      added.push_back({table.name, table.definition, record.streamed_from,
                       record.consistent_point, record.born_at});
    }
  }
  record.coverage = kept.ToString();
  record.added = std::move(added);
  record.streamed_from = before.streamed_from;
  record.born_at = before.born_at;
}

bool AllWasPublished(const BirthRecord& record) {
  return record.streamed_from == kFirstTransaction;
}

void NoteAllPublished(BirthRecord& record) {
  record.streamed_from = kFirstTransaction;
  record.born_at = WallTime();
}

}  // namespace walpost
