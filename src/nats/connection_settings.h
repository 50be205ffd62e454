// Checks the options of NATS, and makes them ready for a connection.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nats/nats_client.h"
#include "nats/options.h"

namespace walpost {

// kInvalidArgument: names the key.
absl::Status CheckNatsOptions(const NatsOptions& options);

// "nats://a:4222" of "a, b:4222": the servers as URLs. The port is 4222 if none
// is given.
std::vector<std::string> ServerUrls(std::string_view servers);

// Reads the credentials. kUnavailable: one cannot be read now; names the key.
absl::StatusOr<NatsConnectionSettings> ConnectionSettings(
    const NatsOptions& options);

}  // namespace walpost
