// The page /wait: says whether everything up to an LSN has been acknowledged.
//
//   /wait?lsn=16/B374D838&timeout=10
//
//   200  acknowledged: in Kafka, or on record with what was decided about it
//   503  not yet; the state of walpost
//   400  cannot be answered for this LSN, or is no such question
//
// Pure.
#pragma once

#include <chrono>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "health/relay_status.h"

namespace walpost {

struct LsnWait {
  static constexpr std::chrono::seconds kMaxTimeout{60};

  Lsn lsn;
  // How long the client waits for a better answer.
  std::chrono::milliseconds timeout{5'000};
};

// From what is behind the `?`. kInvalidArgument names the parameter.
absl::StatusOr<LsnWait> ParseLsnWait(std::string_view query);

// `waited`: since the question. OK: acknowledged. kUnavailable: not yet.
// kInvalidArgument: never, here.
//
// It is not enough that the LSN was passed: slot and publication are checked
// once more after the question, because rows that they did not send were also
// passed.
absl::Status Answer(const LsnWait& wait, const RelayStatus& status,
                    std::chrono::milliseconds waited);

}  // namespace walpost
