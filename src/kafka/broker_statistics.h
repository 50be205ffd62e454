// What librdkafka's statistics say about the brokers.
#pragma once

#include <cstddef>
#include <string_view>

namespace walpost {

// Brokers in state UP, from the JSON of a statistics event (librdkafka's
// STATISTICS.md). 0 when it does not parse.
size_t CountBrokersUp(std::string_view json);

}  // namespace walpost
