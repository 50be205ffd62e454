// State of the streams that take the subjects of one route, and what to do
// about it: for `walpost check`. Pure: nats_check.h asks the servers.
#pragma once

#include <optional>
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
  // kPossibleLetters: dead letters that no on_error sends there yet.
  enum class Use { kEvents, kLetters, kPossibleLetters };
  std::string text;
  bool is_whole = false;
  Use use = Use::kEvents;

  // A filter that all of them match: whole tokens of the prefix, and `>`.
  std::string filter() const;
};

// What else there is.
struct NatsSurroundings {
  bool is_clustered = false;  // the servers
  // The stream nats.create_stream.name; nullopt: there is none.
  std::optional<StreamInfo> named = {};
  // A stream that takes subjects of the events; nullopt: none is known.
  std::optional<StreamInfo> of_events = {};
};

// `streams`: those that take some subject of the filter.
Findings CheckStreams(const NatsSubjects& subjects,
                      const std::vector<StreamInfo>& streams,
                      const NatsOptions& options,
                      const NatsSurroundings& around = {});

}  // namespace walpost
