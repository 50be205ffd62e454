// FetchSizer: number of rows to ask for, so that they take a few MiB whatever
// the row size: grows slowly, shrinks at once.
#pragma once

#include <algorithm>
#include <cstddef>

namespace walpost {

class FetchSizer {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;

  explicit FetchSizer(size_t most_rows)
      : most_(most_rows), rows_(std::min(most_rows, size_t{100})) {}

  size_t rows() const { return rows_; }

  void OnRead(size_t rows, size_t bytes) {
    if (rows == 0) return;
    const size_t fitting = rows * kBytes / (bytes + 1);
    rows_ = std::clamp(std::min(fitting, 2 * rows_), size_t{1}, most_);
  }

 private:
  size_t most_;
  size_t rows_;
};

}  // namespace walpost
