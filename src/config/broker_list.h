// The value of kafka.brokers: host:port of one or more brokers.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace walpost {

// Checks that librdkafka accepts every broker of the list as written. It
// ignores one that it cannot parse, and reads 99999 as port 34463.
//
//   host[:port], [::1]:9092 and SSL://host:port, separated by commas
//
// kInvalidArgument names the wrong part, and shows the right form.
absl::Status CheckBrokerList(std::string_view brokers);

}  // namespace walpost
