// Asks the running walpost, over its HTTP port.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "admin/http_options.h"

namespace walpost {

// The body of GET `path`. kInvalidArgument: http.listen is not set.
// kUnavailable: no walpost answers within 5 s.
absl::StatusOr<std::string> AskInstance(const HttpOptions& options,
                                        const std::string& path);

// kUnavailable: no walpost answers there, because of `why`.
absl::Status NoInstance(const HttpOptions& options, const std::string& why);

}  // namespace walpost
