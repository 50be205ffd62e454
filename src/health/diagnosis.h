// Diagnosis: the state of a relay and its reason, from the relay's signs.
//
// The worst condition wins (condition.h), whatever came first: what needs an
// operator goes before an outage, which may pass, and that before what does not
// hold up events. Up to kMaxAlso others are named behind it.
//
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "health/relay_signs.h"
#include "health/relay_status.h"

namespace walpost {

// What a relay can be held up by, or may soon be (Diagnosis::causes).
inline constexpr std::string_view kCauses[] = {
    "slot",  "publication", "event", "pause",      "postgres",
    "kafka", "checkpoint",  "wal",   "credentials"};

struct Diagnosis {
  static constexpr size_t kMaxAlso = 2;

  RelayState state = RelayState::kStarting;
  // Cause of waiting, and what to do; empty if all is well.
  std::string reason;
  // The reason as one word, if it has one (base/reason_code.h).
  std::string code = {};
  // All that hold now, whichever is the reason; some of kCauses. Credentials
  // that were rejected are named besides the server that has done so.
  std::vector<std::string_view> causes = {};
};

Diagnosis Diagnose(const RelaySigns& signs);

}  // namespace walpost
