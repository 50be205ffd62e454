// State of the streams that take the subjects of one route, and what to do
// about it: for `walpost check`. Pure: nats_check.h asks the servers.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "nats/options.h"
#include "nats/stream_info.h"

namespace walpost {

inline constexpr char kFindingNatsUnavailable[] = "nats_unavailable";
inline constexpr char kFindingJetStreamUnavailable[] = "jetstream_unavailable";

// Prefix of the subjects of a route or of dead letters, or the one whole
// subject.
struct NatsSubjects {
  std::string text;
  bool is_whole = false;

  // A filter that all of them match: whole tokens of the prefix, and `>`.
  std::string filter() const;
};

// `streams`: those that take some subject of the filter.
Findings CheckStreams(const NatsSubjects& subjects,
                      const std::vector<StreamInfo>& streams,
                      const NatsOptions& options);

}  // namespace walpost
