// NearLimit: says once that something has come near its limit, and again after
// it was away from it.
//
// Pure.
#pragma once

#include <cstddef>
#include <utility>

namespace walpost {

class NearLimit {
 public:
  static constexpr size_t kPercent = 80;

  // True if `count` is near now, and was not when it was looked at last.
  bool HasCome(size_t count, size_t limit) {
    const bool is_near = count * 100 >= limit * kPercent;
    return !std::exchange(is_near_, is_near) && is_near;
  }

 private:
  bool is_near_ = false;
};

}  // namespace walpost
