// The servers of rabbitmq.nodes: "mq1:5672, mq2, [::1]:5671".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost::rabbitmq {

struct RabbitmqAddress {
  std::string host;
  uint16_t port = 0;

  std::string ToString() const;
  friend bool operator==(const RabbitmqAddress&,
                         const RabbitmqAddress&) = default;
};

// Without a port it is 5672, with TLS 5671. kInvalidArgument: empty, or a part
// is malformed; names it.
absl::StatusOr<std::vector<RabbitmqAddress>> ParseRabbitmqAddresses(
    std::string_view text, bool with_tls);

}  // namespace walpost::rabbitmq
