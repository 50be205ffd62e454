// Lsn: a byte position in the write-ahead log.
//
// Printed as PostgreSQL prints it, two hexadecimal halves: "16/B374D848".
// Ordered; a strong type, so that it never mixes with offsets or counts.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

class Lsn {
 public:
  // 0/0, PostgreSQL's InvalidXLogRecPtr: "no position".
  constexpr Lsn() = default;
  constexpr explicit Lsn(uint64_t value) : value_(value) {}

  // Reads "X/X" as `pg_lsn` does: one to eight hexadecimal digits a side.
  // kInvalidArgument names the text otherwise.
  static absl::StatusOr<Lsn> Parse(std::string_view text);

  constexpr uint64_t value() const { return value_; }
  constexpr bool is_valid() const { return value_ != 0; }

  std::string ToString() const;

  friend constexpr auto operator<=>(Lsn, Lsn) = default;

 private:
  uint64_t value_ = 0;
};

// Bytes of WAL from `from` to `to`; 0 when `to` is not ahead.
constexpr uint64_t BytesBetween(Lsn from, Lsn to) {
  return to > from ? to.value() - from.value() : 0;
}

}  // namespace walpost
