// Rows of the table of parked events, as ParkingSql selects them.
//
// All parsers: an error names what the table has that walpost never writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dead_letters/dead_letter.h"
#include "parking/parked_keys.h"
#include "parking/parked_row.h"
#include "postgres/connect/query_rows.h"

namespace walpost {

// A lane in which events wait.
struct ParkedLane {
  OwnValue aggregate_type;
  std::string key;
  uint64_t events = 0;
  uint64_t dead = 0;
  std::chrono::seconds age{0};  // since its oldest event was parked
};

// A topic that events wait for.
struct IsolatedTopic {
  std::string name;
  uint64_t events = 0;
  uint64_t free = 0;  // that wait for nothing else
  uint64_t bytes = 0;
  std::chrono::seconds age{0};  // since its oldest event was parked
};

// ReadSendable; `has_class`: ReadRetries. Binary results.
absl::StatusOr<std::vector<ParkedRow>> ParseParkedRows(const QueryRows& rows,
                                                       bool has_class);

// ReadLanes.
absl::StatusOr<std::vector<ParkedLane>> ParseParkedLanes(const QueryRows& rows);

// ReadTopics.
std::vector<IsolatedTopic> ParseIsolatedTopics(const QueryRows& rows);

// LoadLanes, LoadTopics and LoadSettled: what the stream must know.
absl::StatusOr<ParkedSoFar> ParseParkedSoFar(const QueryRows& lanes);
absl::Status ParseIsolatedSpans(const QueryRows& topics, ParkedSoFar& so_far);
absl::Status ParseSettledEvents(const QueryRows& settled, ParkedSoFar& so_far);

}  // namespace walpost
