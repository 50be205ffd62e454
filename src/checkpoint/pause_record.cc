#include "checkpoint/pause_record.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr char kPauseTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";
constexpr std::string_view kPrefix = "walpost: ";
constexpr std::string_view kPaused = "paused";
constexpr std::string_view kResumed = "resumed";
constexpr std::string_view kPauseReason = " why=";

std::string AsOneWord(std::string text, std::string_view characters) {
  for (char& c : text) {
    if (characters.find(c) != std::string_view::npos) c = '_';
  }
  return text;
}

// The details behind the verb.
void ParseDetails(std::string_view text, PauseRecord& record) {
  const size_t why = text.find(kPauseReason);
  if (why != std::string_view::npos) {
    record.why = text.substr(why + kPauseReason.size());
    text = text.substr(0, why);
  }
  const std::vector<std::string> words =
      absl::StrSplit(std::string(text), ' ', absl::SkipEmpty());
  for (const std::string& word : words) {
    if (word.starts_with("by=")) record.by = word.substr(3);
    if (!word.starts_with("at=")) continue;
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(kPauseTimeFormat, word.substr(3), &time, &error))
      continue;
    record.at = WallTime(std::chrono::microseconds(absl::ToUnixMicros(time)));
  }
}

// nullopt: the line is not about the subject.
std::optional<PauseRecord> ParsePause(std::string_view line,
                                      std::string_view subject) {
  const std::string begin = fmt::format("{}{} ", kPrefix, subject);
  if (!line.starts_with(begin)) return std::nullopt;
  line.remove_prefix(begin.size());
  const std::string_view verb = line.substr(0, line.find(' '));
  if (verb != kPaused && verb != kResumed) return std::nullopt;
  PauseRecord record;
  record.is_paused = verb == kPaused;
  ParseDetails(line.substr(verb.size()), record);
  return record;
}

std::vector<std::string> LinesOf(std::string_view comment) {
  if (comment.empty()) return {};
  return absl::StrSplit(std::string(comment), '\n');
}

bool IsNewer(const PauseRecord& record, const PauseRecord& than) {
  return record.at > than.at ||
         (record.at == than.at && record.is_paused && !than.is_paused);
}

}  // namespace

std::string PauseSubject(std::string_view slot) {
  return fmt::format("slot {}", slot);
}

std::optional<PauseRecord> FindPause(const std::vector<std::string>& comments,
                                     std::string_view subject) {
  std::optional<PauseRecord> newest;
  for (const std::string& comment : comments) {
    for (const std::string& line : LinesOf(comment)) {
      std::optional<PauseRecord> record = ParsePause(line, subject);
      if (record && (!newest || IsNewer(*record, *newest))) {
        newest = std::move(record);
      }
    }
  }
  return newest;
}

std::optional<PauseRecord> FindTablePause(const std::string& comment) {
  const std::vector<std::string> comments = {comment};
  return FindPause(comments, kPollingPauseSubject);
}

std::string WithPause(std::string_view comment, std::string_view subject,
                      const PauseRecord& record) {
  std::vector<std::string> lines = LinesOf(comment);
  std::erase_if(lines, [&](const std::string& line) {
    return ParsePause(line, subject).has_value();
  });
  lines.push_back(fmt::format("{}{} {} by={} at={}{}{}", kPrefix, subject,
                              record.is_paused ? kPaused : kResumed,
                              AsOneWord(record.by, " \t\r\n"), PausedAt(record),
                              kPauseReason, AsOneWord(record.why, "\r\n")));
  return absl::StrJoin(lines, "\n");
}

std::string DescribePause(const PauseRecord& record) {
  return fmt::format(
      "by {} since {}{}{}", record.by.empty() ? "somebody" : record.by,
      PausedAt(record), record.why.empty() ? "" : ": ", record.why);
}

std::string PausedAt(const PauseRecord& record) {
  const absl::Time at = absl::FromUnixMicros(
      std::chrono::floor<std::chrono::seconds>(record.at).time_since_epoch() /
      std::chrono::microseconds(1));
  return absl::FormatTime(kPauseTimeFormat, at, absl::UTCTimeZone());
}

}  // namespace walpost
