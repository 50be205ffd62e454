// Checks of NATS JetStream, for `walpost check`.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "delivery/sink_findings.h"
#include "nats/nats_handles.h"
#include "nats/options.h"
#include "nats/stream_check.h"

namespace walpost {

// A connection for questions, with the login of the sink. Blocks for up to 2 s
// per server. kUnavailable: says why, and what to do.
absl::StatusOr<NatsConnectionHandle> OpenNats(const NatsOptions& options);

// Asks the servers, with a connection of its own, whether they answer, and
// which streams take the subjects.
//
// Blocks up to `timeout` per request: for the command line, not the loop.
// Servers that cannot be reached are a finding. kInvalidArgument: see
// CheckNatsOptions. kUnavailable: a credential cannot be read.
absl::StatusOr<SinkFindings> CheckNats(
    const NatsOptions& options, const std::vector<NatsSubjects>& subjects,
    std::chrono::milliseconds timeout);

// Names of streams, as in KnownStreams::text() -> their creation, of those that
// exist. Blocks likewise. kUnavailable: no answer.
absl::StatusOr<std::map<std::string, std::string>> FindNatsStreams(
    const NatsOptions& options, const std::set<std::string>& names,
    std::chrono::milliseconds timeout);

}  // namespace walpost
