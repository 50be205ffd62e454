// StreamEntry: a record as an entry of a stream, in bytes of the protocol.
//
//   id               of the event
//   type             of the event
//   key              of the record: the aggregate id
//   payload          value of the record
//   timestamp        of the record, in milliseconds since 1970
//   header.<name>    each header, but `id`, which is the first field
//
// A field whose value is null is left out; an empty one is there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "outbox/record.h"
#include "redis/entry_id.h"

namespace walpost {

struct StreamEntry {
  // More fields do not fit the stack of Redis' Lua.
  static constexpr size_t kMaxHeaders = 1'000;

  // nullopt: it goes behind the newest entry.
  std::optional<EntryId> place;
  size_t arguments = 0;  // names and values of the fields
  std::string bytes;     // the arguments, as RESP

  // kInvalidArgument: larger than `max_bytes`, too many headers, or its stream
  // has no name.
  static absl::StatusOr<StreamEntry> Of(const Record& record, size_t max_bytes);
};

}  // namespace walpost
