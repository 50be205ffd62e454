// Waiters: limits the requests that wait for their page. The other connections
// are left for requests that are answered at once, such as probes.
#pragma once

#include <cstddef>
#include <memory>

namespace walpost {

class Waiters : public std::enable_shared_from_this<Waiters> {
 public:
  explicit Waiters(size_t limit) : limit_(limit) {}

  // A place, until it is released; nullptr: all are taken.
  std::shared_ptr<void> Take() {
    if (count_ >= limit_) return nullptr;
    ++count_;
    return {this, [self = shared_from_this()](void*) { --self->count_; }};
  }

 private:
  const size_t limit_;
  size_t count_ = 0;
};

}  // namespace walpost
