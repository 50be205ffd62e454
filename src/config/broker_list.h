// The value of kafka.brokers: host:port of one broker or more.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace walpost {

// Whether librdkafka takes every broker of the list as it is written. It
// ignores one that it cannot parse, and takes 99999 for port 34463.
//
//   host[:port], [::1]:9092 and SSL://host:port, separated by commas
//
// kInvalidArgument names the part that is wrong, and shows how to write it.
absl::Status CheckBrokerList(std::string_view brokers);

}  // namespace walpost
