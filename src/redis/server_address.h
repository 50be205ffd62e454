// Address of a Redis server or a Sentinel. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

struct ServerPlace {
  static constexpr uint16_t kRedisPort = 6379;
  static constexpr uint16_t kSentinelPort = 26379;

  std::string host;
  uint16_t port = 0;

  // host, host:port, [::1]:port. kInvalidArgument names `key` and the text.
  static absl::StatusOr<ServerPlace> Parse(std::string_view text,
                                           uint16_t default_port,
                                           std::string_view key);
  std::string ToString() const;
};

}  // namespace walpost
