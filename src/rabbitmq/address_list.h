// The servers of rabbitmq.nodes: "mq1:5672, mq2, [::1]:5671".
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/server_place.h"

namespace walpost::rabbitmq {

// Without a port it is 5672, with TLS 5671. kInvalidArgument: empty, or a part
// is malformed; names it.
absl::StatusOr<std::vector<ServerPlace>> ParseRabbitmqAddresses(
    std::string_view text, bool with_tls);

}  // namespace walpost::rabbitmq
