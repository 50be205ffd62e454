// Record: what the sink gets of one event. A view, like the event.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/time.h"
#include "outbox/event.h"
#include "outbox/position.h"
#include "outbox/topic_creation.h"

namespace walpost {

struct RecordHeader {
  std::string_view name;
  Value value;  // nullopt: null header; "": empty header
};

struct Record {
  std::string_view topic;
  // nullopt: the partition of its key, or any if there is no key.
  std::optional<int32_t> partition = {};
  Value key;    // nullopt: no key; "" is a key of no bytes, and is hashed
  Value value;  // nullopt: a tombstone
  std::span<const RecordHeader> headers;
  WallTime timestamp;

  // The id and the type of the event, and its place in the WAL, for sinks that
  // name a record by them (nullopt: a polled row, or a record that is sent on
  // purpose in addition to one that had the place).
  Value id = {};
  Value type = {};
  std::optional<TimelinePosition> position = {};

  // How to create the topic if it is missing; nullptr: it is not created.
  const TopicCreation* creation = nullptr;

  // True if the value has only a reference to the payload (claim_check.h).
  bool has_claim_check = false;

  // Size for the in-flight limit: its own bytes plus librdkafka's overhead.
  size_t size_bytes = 0;
};

}  // namespace walpost
