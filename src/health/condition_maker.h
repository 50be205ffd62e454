// Helpers for the texts of conditions. Private to condition.cc and
// event_conditions.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "health/condition.h"

namespace walpost {

using Found = std::optional<Condition>;

// A record in flight for longer than this means that Kafka does not answer; a
// statement, that Postgres does not.
inline constexpr std::chrono::seconds kStuckAfter{8};
inline constexpr size_t kMaxBrief = 160;

inline std::string Text(const absl::Status& status) {
  return std::string(status.message());
}

inline int64_t Seconds(std::chrono::milliseconds duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

inline std::string Shorten(const std::string& text) {
  if (text.size() <= kMaxBrief) return text;
  return text.substr(0, text.rfind(' ', kMaxBrief)) + " ...";
}

inline Condition Stuck(Permanence permanence, Part part, std::string reason,
                       std::string brief, std::string code = "") {
  return {RelayState::kStuck, permanence,       part,
          std::move(reason),  std::move(brief), std::move(code)};
}

inline Condition Outage(Part part, std::string reason, std::string brief) {
  return Stuck(Permanence::kMayPass, part, std::move(reason), std::move(brief));
}

inline std::string InBrackets(const std::string& code) {
  return code.empty() ? "" : fmt::format(" [{}]", code);
}

inline Condition Degraded(Part part, std::string reason) {
  return {RelayState::kDegraded, Permanence::kInformation, part,
          std::move(reason), ""};
}

}  // namespace walpost
