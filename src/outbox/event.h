// Event: one committed outbox row or logical message, with its columns
// mapped to the fields that every outbox has.
//
// A view: all of it is valid until the next event is requested.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "base/time.h"
#include "base/xid.h"
#include "outbox/position.h"

namespace walpost {

// A column's value; nullopt: NULL, which is not the empty string.
using Value = std::optional<std::string_view>;

// Identifies an event when it comes again. After the WAL has forked, another
// transaction may have an event at the same position.
struct EventIdentity {
  Position position;
  Xid xid{};
  WallTime commit_time{};

  friend auto operator<=>(const EventIdentity&, const EventIdentity&) = default;
};

struct Event {
  Position position;
  // The position for its record, if the sequence in which it is sent has other
  // positions; nullptr: `position`.
  const TimelinePosition* own_position = nullptr;
  WallTime commit_time;
  Xid xid;
  EventIdentity identity() const { return {position, xid, commit_time}; }

  // The configured outbox that it came from: an index into
  // OutboxOptions::tables, or the number of tables for `messages`.
  size_t source = 0;

  Value id;
  Value aggregate_type;
  Value aggregate_id;
  Value type;
  Value payload;  // bytes as the server renders them; bytea as raw bytes
  Value headers;  // JSON object

  // The mapped timestamp column, else the commit time.
  WallTime timestamp;

  // Values that the source's route refers to, in the order of
  // Route::references().
  std::span<const Value> references;
};

}  // namespace walpost
