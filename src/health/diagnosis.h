// Diagnosis: the state of a relay and its reason, from the relay's signs.
//
// The worst condition wins (condition.h), whichever came first: conditions that
// need an operator, then outages, which may pass, then conditions that do not
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

// Things that can hold a relay up, now or soon (Diagnosis::causes).
inline constexpr std::string_view kCauses[] = {
    "slot",  "publication", "event", "pause",      "postgres",
    "kafka", "checkpoint",  "wal",   "credentials"};

struct Diagnosis {
  static constexpr size_t kMaxAlso = 2;

  RelayState state = RelayState::kStarting;
  // The cause, and what to do; empty if all is well.
  std::string reason;
  // The reason as one word, if it has one (base/reason_code.h).
  std::string code = {};
  // All causes that hold now, whichever of them is the reason; some of kCauses.
  // Rejected credentials are named in addition to the server that rejects them.
  std::vector<std::string_view> causes = {};
};

Diagnosis Diagnose(const RelaySigns& signs);

}  // namespace walpost
