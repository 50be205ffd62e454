// The truncation twin of a decoder test: what decodes whole must fail cleanly
// when it is cut anywhere, and when a byte too many follows.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walpost::testing {

// A copy on the heap with not a byte to spare, so that AddressSanitizer sees
// a read beyond its end.
class ExactBytes {
 public:
  explicit ExactBytes(std::string_view bytes)
      : size_(bytes.size()), copy_(new char[bytes.size()]) {
    bytes.copy(copy_.get(), size_);
  }

  std::string_view view() const { return {copy_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<char[]> copy_;
};

// decode(std::string_view) returns an absl::StatusOr. Prefixes shorter than
// `shortest` are left out: those that happen to be whole.
template <typename Decode>
void ExpectEveryPrefixFails(Decode&& decode, std::string_view whole,
                            size_t shortest = 0) {
  for (size_t size = shortest; size < whole.size(); ++size) {
    const ExactBytes prefix(whole.substr(0, size));
    const auto result = decode(prefix.view());
    EXPECT_TRUE(absl::IsDataLoss(result.status()))
        << size << " of " << whole.size() << " bytes: " << result.status();
  }
}

template <typename Decode>
void ExpectTrailingByteFails(Decode&& decode, std::string_view whole) {
  for (const char extra : {'\0', 'n', '\xff'}) {
    const ExactBytes longer(std::string(whole) + extra);
    const auto result = decode(longer.view());
    EXPECT_TRUE(absl::IsDataLoss(result.status())) << result.status();
  }
}

}  // namespace walpost::testing
