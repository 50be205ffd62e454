// Headers that tell which connector has sent a record, and in which run.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debezium/options.h"

namespace walpost::debezium {

// Names and values, in Debezium's order. `run_id` is left out if it is empty.
std::vector<std::pair<std::string_view, std::string>> ContextHeadersOf(
    const Options& options, const std::string& run_id);

}  // namespace walpost::debezium
