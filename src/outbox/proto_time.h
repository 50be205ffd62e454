// Times in protobuf messages.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace walpost {

inline void SetTime(WallTime time, google::protobuf::Timestamp& timestamp) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::chrono::nanoseconds rest = time - seconds;
  timestamp.set_seconds(seconds.time_since_epoch().count());
  timestamp.set_nanos(static_cast<int32_t>(rest.count()));
}

}  // namespace walpost
