// Event: one committed outbox row or logical message, with its columns
// mapped to the fields that every outbox has.
//
// A view: all of it is valid until the next event is requested.
#pragma once

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

struct Event {
  Position position;
  WallTime commit_time;
  Xid xid;

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
