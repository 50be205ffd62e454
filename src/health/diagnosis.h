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

#include "health/relay_signs.h"
#include "health/relay_status.h"

namespace walpost {

struct Diagnosis {
  static constexpr size_t kMaxAlso = 2;

  RelayState state = RelayState::kStarting;
  // Cause of waiting, and what to do; empty if all is well.
  std::string reason;
  // The reason as one word, if it has one (base/reason_code.h).
  std::string code = {};
};

Diagnosis Diagnose(const RelaySigns& signs);

}  // namespace walpost
