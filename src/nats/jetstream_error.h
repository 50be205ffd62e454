// JetStreamError: an `error` in an answer of the API of JetStream.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walpost {

// Both numbers 0: no error.
struct JetStreamError {
  int code = 0;      // as of HTTP
  int err_code = 0;  // which error
  std::string description = {};

  bool is_error() const { return code != 0 || err_code != 0; }
};

inline constexpr int kStreamNotFound = 10059;
inline constexpr int kJetStreamNotEnabled = 10076;

// The code says what to do (delivery/error_policy.h). `attempted` describes the
// attempt: "publishing 12 bytes to outbox.order".
absl::Status StatusFromJetStream(const JetStreamError& error,
                                 std::string_view attempted);

}  // namespace walpost
