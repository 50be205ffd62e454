// A digest of everything that a connection to Redis proves itself with, to
// notice that it has changed.
#pragma once

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "redis/options.h"

namespace walpost {

// Reads small files. kUnavailable: a value cannot be read now; names the key.
absl::StatusOr<Sha256Digest> DigestCredentials(const RedisOptions& options);

}  // namespace walpost
