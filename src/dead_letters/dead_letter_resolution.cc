#include "dead_letters/dead_letter_resolution.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "fmt/format.h"
#include "outbox/options.h"

namespace walpost {
namespace {

constexpr std::string_view kOffsetHeader = "walpost-decision-offset";
constexpr std::string_view kByHeader = "walpost-decision-by";
constexpr std::string_view kWhyHeader = "walpost-decision-why";

bool ParseOffset(std::string_view text, int64_t& offset) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, offset);
  return error == std::errc() && rest == end && offset >= 0;
}

using Action = DeadLetterResolution::Action;

constexpr std::array<std::pair<Action, std::string_view>, 2> kActions = {{
    {Action::kRetried, "retried"},
    {Action::kDiscarded, "discarded"},
}};

bool ParseAction(std::string_view text, Action& action) {
  const auto found = std::ranges::find(
      kActions, text, &std::pair<Action, std::string_view>::second);
  if (found == kActions.end()) return false;
  action = found->first;
  return true;
}

}  // namespace

std::string_view ToString(DeadLetterResolution::Action action) {
  return std::ranges::find(kActions, action,
                           &std::pair<Action, std::string_view>::first)
      ->second;
}

absl::StatusOr<std::optional<DeadLetterResolution>> ReadLetterDecision(
    const Record& record) {
  DeadLetterResolution decision;
  decision.at = record.timestamp;
  bool is_one = false;
  bool is_readable = true;
  bool has_offset = false;
  for (const auto& [name, value] : record.headers) {
    const std::string_view text = value.value_or("");
    if (name == kDecisionHeader) {
      is_one = true;
      is_readable &= ParseAction(text, decision.action);
    } else if (name == kOffsetHeader) {
      has_offset = ParseOffset(text, decision.offset);
    } else if (name == kByHeader) {
      decision.by = text;
    } else if (name == kWhyHeader) {
      decision.why = text;
    }
  }
  if (!is_one) return std::nullopt;
  if (is_readable && has_offset) return decision;
  return absl::InvalidArgumentError(
      "a decision about a dead letter is not as this release of walpost "
      "writes them: use a newer one");
}

DeadLetterResolutionRecord::DeadLetterResolutionRecord(
    const DeadLetterResolution& decision, std::string_view topic, Value key,
    Value id)
    : topic_(topic),
      offset_(fmt::format("{}", decision.offset)),
      by_(decision.by),
      why_(decision.why) {
  if (id) headers_.push_back({kIdHeader, id});
  headers_.push_back({kDecisionHeader, ToString(decision.action)});
  headers_.push_back({kOffsetHeader, offset_});
  headers_.push_back({kByHeader, by_});
  headers_.push_back({kWhyHeader, why_});
  record_.topic = topic_;
  record_.key = key;
  record_.headers = headers_;
  record_.timestamp = decision.at;
}

}  // namespace walpost
