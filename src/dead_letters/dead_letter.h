// DeadLetter: a dead letter as it is in its topic, read back.
//
// The inverse of outbox/dead_letter_builder.h, which documents the headers. It
// has all of the event, except a payload that was cut or left out, and columns
// that could not be read.
//
// Pure data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "outbox/event.h"
#include "outbox/record.h"

namespace walpost {

// A field's value; nullopt: NULL.
using OwnValue = std::optional<std::string>;

struct DeadLetter {
  std::string error_class;
  std::string reason;
  std::string topic;     // that the event would have; empty: none
  std::string source;    // the table, or the prefix of the messages
  std::string position;  // as in walpost-position; empty: not from the WAL

  OwnValue id;
  OwnValue aggregate_type;
  OwnValue aggregate_id;
  OwnValue type;
  OwnValue payload;
  OwnValue headers;
  // Other columns that the route refers to.
  std::vector<std::pair<std::string, OwnValue>> columns;
  // Size of the whole payload, if it was cut or left out.
  std::optional<uint64_t> payload_bytes;

  WallTime commit_time;
  WallTime timestamp;
};

// The fields of the event in it; valid as long as `letter`.
Event FieldsOf(const DeadLetter& letter);

// The event's digest (outbox/event_digest.h). Of an event without an id it is
// right only if the letter has the whole payload.
std::string DigestOf(const DeadLetter& letter);

// Reads a record of a dead-letter topic. nullopt: it is no dead letter.
// kInvalidArgument: it is one, but not as walpost writes them; says why.
absl::StatusOr<std::optional<DeadLetter>> ReadDeadLetter(const Record& record);

}  // namespace walpost
