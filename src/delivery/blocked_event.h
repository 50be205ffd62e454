// BlockedEvent: an event that stops the flow, and why.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "outbox/position.h"

namespace walpost {

struct BlockedEvent {
  Position position;
  std::string event_id;  // empty: not known
  absl::Status reason;
  std::string key = {};  // aggregate_id; empty: it has none
  // outbox/event_digest.h; empty unless it is in the stream.
  std::string digest = {};
  // schema.table of the outbox; empty: it is a logical message.
  std::string table = {};
  // The dead letter of the event cannot be delivered either.
  bool is_of_dead_letter = false;

  // A row that is read from the table has no LSN to decide about.
  bool is_in_stream() const { return position.commit_lsn.is_valid(); }
};

}  // namespace walpost
