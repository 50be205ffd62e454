// Requests to the API of JetStream, as JSON, and the commands of the nats CLI
// that do the same.
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nats/options.h"

namespace walpost {

// "$JS.API", or that of a domain.
std::string JetStreamApi(std::string_view domain);

// Asks for the streams that take the subject, or some subject of a filter.
std::string StreamNamesBody(std::string_view filter);
std::string CreateStreamBody(const NatsStreamCreation& creation);

// "nats --server 'nats://a:4222' --tlsca ca.pem": the program, with how it gets
// to the servers. Passwords and tokens are variables of the shell.
std::string NatsProgram(const NatsOptions& options);

// The command that makes a stream of this name for all subjects of `filter`.
// `is_clustered`: of the servers.
std::string MakeStreamCommand(const NatsOptions& options, std::string_view name,
                              std::string_view filter, bool is_clustered);

// The command that gives a stream these subjects, and no others.
std::string EditSubjectsCommand(const NatsOptions& options,
                                std::string_view name,
                                const std::vector<std::string>& subjects);

}  // namespace walpost
