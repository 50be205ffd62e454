// Requests to the API of JetStream, as JSON, and the commands of the nats CLI
// that do the same.
//
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "nats/options.h"

namespace walpost {

// "$JS.API", or that of a domain.
std::string JetStreamApi(std::string_view domain);

// Asks for the streams that take the subject, or some subject of a filter.
std::string StreamNamesBody(std::string_view filter);
std::string CreateStreamBody(const NatsStreamCreation& creation);

// The command that makes a stream for all subjects of `filter`.
std::string MakeStreamCommand(std::string_view servers,
                              std::string_view filter);

}  // namespace walpost
