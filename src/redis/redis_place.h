// The places of Redis servers and of Sentinels, as the configuration has them.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "base/server_place.h"
#include "fmt/format.h"

namespace walpost {

namespace internal {

inline absl::StatusOr<ServerPlace> ParsePlace(std::string_view text,
                                              uint16_t port,
                                              std::string_view key) {
  const std::optional<ServerPlace> place = ServerPlace::Parse(text, port);
  if (place) return *place;
  // It may hold a password.
  if (text.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: host:port is expected, without a user: write it in redis.user and "
        "redis.password",
        key));
  }
  return absl::InvalidArgumentError(fmt::format(
      "{}: '{}' is not host:port, as in 127.0.0.1:{}", key, text, port));
}

}  // namespace internal

// kInvalidArgument names the key and the text.
inline absl::StatusOr<ServerPlace> ParseRedisPlace(std::string_view text) {
  return internal::ParsePlace(text, 6379, "redis.address");
}
inline absl::StatusOr<ServerPlace> ParseSentinelPlace(std::string_view text) {
  return internal::ParsePlace(text, 26379, "redis.sentinels");
}

inline absl::StatusOr<ServerPlace> ParseNodePlace(std::string_view text) {
  return internal::ParsePlace(text, 6379, "redis.cluster");
}

}  // namespace walpost
