// EntryId: id of an entry of a stream, `<milliseconds>-<sequence>` in the words
// of Redis. It need not be a time: ids only grow.
//
//   <commit LSN>-<ordinal << 20>        an event of the WAL
//   <id of the newest entry, plus one>  a record without a place
//
// The server refuses an id that is not above its newest one. So an event that
// is sent again is not written twice. The shift leaves room for 2^20 records
// without a place between two events.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "outbox/position.h"

namespace walpost {

struct EntryId {
  static constexpr int kOrdinalShift = 20;

  uint64_t milliseconds = 0;
  uint64_t sequence = 0;

  // nullopt: the position is not of the WAL, or its ordinal is above 2^44.
  static std::optional<EntryId> Of(const Position& position);
  // As Redis prints it. nullopt: it is not an id.
  static std::optional<EntryId> Parse(std::string_view text);

  std::string ToString() const;

  friend constexpr auto operator<=>(const EntryId&, const EntryId&) = default;
};

}  // namespace walpost
