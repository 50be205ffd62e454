// The headers that Debezium's connector gives each record of the stream.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "debezium/options.h"

namespace walpost::debezium {

struct ContextHeader {
  std::string name;
  std::string value;  // bytes of the header converter
};

// In their order; empty: the release of the options writes none. `run_id`: a
// UUID (version 7) that is new with each start; left out if it is empty.
std::vector<ContextHeader> MakeContextHeaders(const Options& options,
                                              std::string_view run_id);

}  // namespace walpost::debezium
