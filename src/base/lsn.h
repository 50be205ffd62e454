// Lsn: a byte position in the write-ahead log.
//
// Printed like in PostgreSQL, as two hexadecimal halves: "16/B374D848".
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

  // Reads "X/X" like `pg_lsn`: one to eight hexadecimal digits a side.
  // Otherwise kInvalidArgument names the text.
  static absl::StatusOr<Lsn> Parse(std::string_view text);

  constexpr uint64_t value() const { return value_; }
  constexpr bool is_valid() const { return value_ != 0; }

  std::string ToString() const;

  friend constexpr auto operator<=>(Lsn, Lsn) = default;

 private:
  uint64_t value_ = 0;
};

// The end of the WAL, from pg_current_wal_insert_lsn(): this is the start of
// the next record, which on a new page is behind the page's header. No record
// ends there, and an idle server never gets such an LSN confirmed.
constexpr Lsn EndOfWal(Lsn next_record) {
  constexpr uint64_t kPage = 8 << 10;
  constexpr uint64_t kHeader = 24;
  constexpr uint64_t kSegment = 16 << 20;
  constexpr uint64_t kFirstHeader = 40;  // in a segment
  const uint64_t value = next_record.value();
  if (value % kPage == kHeader) return Lsn(value - kHeader);
  if (value % kSegment == kFirstHeader) return Lsn(value - kFirstHeader);
  return next_record;
}

// Bytes of WAL from `from` to `to`; 0 if `to` is not ahead.
constexpr uint64_t BytesBetween(Lsn from, Lsn to) {
  return to > from ? to.value() - from.value() : 0;
}

}  // namespace walpost
