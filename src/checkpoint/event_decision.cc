#include "checkpoint/event_decision.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr char kDecisionTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";
constexpr std::string_view kDecisionReason = " why=";

std::string WithUnderscores(std::string text, std::string_view characters) {
  for (char& c : text) {
    if (characters.find(c) != std::string_view::npos) c = '_';
  }
  return text;
}

std::string ToLine(const EventDecision& decision) {
  const absl::Time at = absl::FromUnixMicros(
      std::chrono::floor<std::chrono::seconds>(decision.at).time_since_epoch() /
      std::chrono::microseconds(1));
  return fmt::format(
      "walpost: slot {} {} {} of system {} timeline={} numbering={} event={}{} "
      "by={} at={}{}{}",
      decision.slot, ToString(decision.action), ToString(decision.position),
      decision.system_identifier, decision.timeline, decision.numbering,
      decision.digest, decision.was_obeyed ? " obeyed=yes" : "",
      WithUnderscores(decision.by, " \t\r\n"),
      absl::FormatTime(kDecisionTimeFormat, at, absl::UTCTimeZone()),
      kDecisionReason, WithUnderscores(decision.why, "\r\n"));
}

// False: the word is not one of ours.
bool ParseWord(std::string_view word, EventDecision& decision) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals);
  const std::string value(word.substr(equals + 1));
  if (key == "timeline") return absl::SimpleAtoi(value, &decision.timeline);
  if (key == "numbering") return absl::SimpleAtoi(value, &decision.numbering);
  if (key == "event") decision.digest = value;
  if (key == "obeyed") decision.was_obeyed = value == "yes";
  if (key == "by") decision.by = value;
  if (key != "at") return true;
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(kDecisionTimeFormat, value, &time, &error)) return false;
  decision.at = WallTime(std::chrono::microseconds(absl::ToUnixMicros(time)));
  return true;
}

// A line without a digest says about no event that it is decided.
bool IsAboutSame(const EventDecision& one, const EventDecision& other) {
  return one.slot == other.slot &&
         one.system_identifier == other.system_identifier &&
         one.position.commit_lsn == other.position.commit_lsn &&
         (one.digest == other.digest || one.digest.empty());
}

// A line that is not understood whole decides nothing.
std::optional<EventDecision> ParseDecision(std::string_view line) {
  constexpr size_t kDecisionWords = 8;
  EventDecision decision;
  const size_t why = line.find(kDecisionReason);
  if (why == std::string_view::npos) return std::nullopt;
  decision.why = line.substr(why + kDecisionReason.size());
  const std::vector<std::string> words =
      absl::StrSplit(std::string(line.substr(0, why)), ' ');
  if (words.size() < kDecisionWords || words[0] != "walpost:" ||
      words[1] != "slot" || words[5] != "of" || words[6] != "system") {
    return std::nullopt;
  }
  decision.slot = words[2];
  if (words[3] == ToString(ErrorAction::kDeadLetter)) {
    decision.action = ErrorAction::kDeadLetter;
  } else if (words[3] != ToString(ErrorAction::kSkip)) {
    return std::nullopt;
  }
  const absl::StatusOr<Position> position = ParsePosition(words[4]);
  if (!position.ok()) return std::nullopt;
  decision.position = *position;
  decision.system_identifier = words[7];
  const bool is_whole =
      std::all_of(words.begin() + kDecisionWords, words.end(),
                  [&](const auto& word) { return ParseWord(word, decision); });
  return is_whole && decision.timeline > 0 ? std::optional(decision)
                                           : std::nullopt;
}

}  // namespace

bool IsAbout(const EventDecision& decision, const EventPlace& at,
             std::string_view digest) {
  const bool is_same_numbering = decision.numbering == at.numbering;
  return decision.system_identifier == at.system_identifier &&
         decision.timeline == at.timeline && decision.digest == digest &&
         decision.position.commit_lsn == at.position.commit_lsn &&
         (!is_same_numbering || decision.position == at.position);
}

Sender::Skips SkipsOf(const std::vector<EventDecision>& decisions,
                      const EventPlace& at) {
  Sender::Skips skips;
  for (const EventDecision& decision : decisions) {
    const bool is_here = decision.system_identifier == at.system_identifier &&
                         decision.timeline == at.timeline;
    const bool is_skip =
        decision.action == ErrorAction::kSkip && decision.was_obeyed;
    if (!is_here || !is_skip || decision.digest.empty()) continue;
    Sender::Skips::Entry entry{
        decision.digest, fmt::format("{}: {}", decision.by, decision.why)};
    if (decision.numbering == at.numbering) {
      skips.Add(decision.position, std::move(entry));
    } else {
      skips.AddOfOtherNumbering(decision.position.commit_lsn, std::move(entry));
    }
  }
  return skips;
}

void AddSkips(const std::vector<EventDecision>& decisions,
              std::string_view system_identifier, EventsOnRecord& events) {
  for (const EventDecision& decision : decisions) {
    if (decision.action != ErrorAction::kSkip || decision.digest.empty()) {
      continue;
    }
    const bool is_here = decision.system_identifier == system_identifier;
    events.Add({Disposition::kSkipped, decision.digest,
                is_here ? decision.position.commit_lsn : Lsn()});
  }
}

std::vector<EventDecision> FindDecisions(std::string_view comment,
                                         std::string_view slot) {
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(comment), '\n');
  std::vector<EventDecision> decisions;
  for (const std::string& line : lines) {
    std::optional<EventDecision> decision = ParseDecision(line);
    if (decision && decision->slot == slot) {
      decisions.push_back(*std::move(decision));
    }
  }
  return decisions;
}

std::string WithDecision(std::string_view comment,
                         const EventDecision& decision) {
  std::vector<std::string> kept;
  if (!comment.empty()) {
    kept = absl::StrSplit(std::string(comment), '\n');
    std::erase_if(kept, [&](const std::string& line) {
      const std::optional<EventDecision> other = ParseDecision(line);
      return other && IsAboutSame(*other, decision);
    });
  }
  kept.push_back(ToLine(decision));
  return absl::StrJoin(kept, "\n");
}

}  // namespace walpost
