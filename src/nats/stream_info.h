// StreamInfo: what walpost knows about a stream of JetStream, from the answer
// to $JS.API.STREAM.INFO.NAME.
//
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace walpost {

struct StreamInfo {
  std::string name;
  std::vector<std::string> subjects;
  // When it was created, with nanoseconds, as the server says it: one that was
  // deleted and created again has another.
  std::string created;
  // It holds messages that are older: the server has given it another date
  // (nats-server 2.9 does, after a restart, an edit, and another restart).
  bool has_older_messages = false;
  uint64_t last_sequence = 0;
  std::string leader;  // empty: the cluster has none for it now

  bool is_in_memory = false;
  bool is_clustered = false;
  int replicas = 1;
  bool discards_new = false;
  std::string retention;  // limits, interest or workqueue
  bool is_sealed = false;
  bool acknowledges = true;        // not `no_ack`
  int64_t max_message_bytes = -1;  // of headers and payload; -1: no limit
  int64_t max_messages = -1;
  int64_t max_bytes = -1;
  std::chrono::nanoseconds duplicate_window{};

  bool Takes(std::string_view subject) const;
  // True for buckets and the like, whose subjects begin with $.
  bool is_of_nats() const;
  // kFailedPrecondition: no record may go there, whatever the brokers answer.
  absl::Status CheckUsable() const;
};

// Reads the answer to a question about a stream, or to its creation. An answer
// without one gives a stream without a name.
StreamInfo ParseStreamInfo(std::string_view json);

}  // namespace walpost
