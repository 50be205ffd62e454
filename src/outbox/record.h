// Record: what goes to Kafka for one event. A view, as the event is.
#pragma once

#include <span>
#include <string_view>

#include "base/time.h"
#include "outbox/event.h"

namespace walpost {

struct RecordHeader {
  std::string_view name;
  Value value;  // nullopt is a null header, "" an empty one
};

struct Record {
  std::string_view topic;
  Value key;    // nullopt: no key; "" is a key of no bytes, and is hashed
  Value value;  // nullopt: a tombstone
  std::span<const RecordHeader> headers;
  WallTime timestamp;

  // What it counts for against the in-flight limit: its own bytes plus what
  // librdkafka keeps beside them.
  size_t size_bytes = 0;
};

}  // namespace walpost
