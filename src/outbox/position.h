// Position: place of an event in the total order of events.
//
// (LSN of the transaction's commit record, ordinal of the event in the
// transaction). Transactions arrive in commit order and a transaction's events
// in the order they were written. So positions only grow along the stream, and
// the same event has the same position after any restart. Row LSNs have neither
// property (docs/delivery.md). An event that is not from the WAL has no LSN.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/lsn.h"

namespace walpost {

struct Position {
  Lsn commit_lsn;
  uint64_t ordinal = 0;  // from 1; counts events, not rows of other tables

  friend constexpr auto operator<=>(const Position&, const Position&) = default;
};

// As people read and type it: `0/154F6A8/3`, the LSN of the commit and the
// ordinal.
std::string ToString(const Position& position);
// kInvalidArgument: it is not such a text; quotes it.
absl::StatusOr<Position> ParsePosition(std::string_view text);

// A position in the `walpost-position` header:
//
//   00000001-000000000154F6A8-0000000000000001
//   timeline commit LSN       ordinal             hexadecimal, upper case
//
// Fixed width, so that text order is stream order: a consumer that stores the
// last one of a partition drops everything that does not sort after it.
class PositionText {
 public:
  static constexpr size_t kSize = 8 + 1 + 16 + 1 + 16;

  PositionText(uint32_t timeline, const Position& position);

  // Valid as long as this object.
  std::string_view view() const { return {text_.data(), kSize}; }

 private:
  std::array<char, kSize> text_;
};

// A PositionText, read back.
struct TimelinePosition {
  uint32_t timeline = 0;
  Position position;
};
// kInvalidArgument: it is not such a text; quotes it.
absl::StatusOr<TimelinePosition> ParsePositionText(std::string_view text);

}  // namespace walpost
