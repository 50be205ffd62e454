// CheckValues: values of the configuration that only their room can judge.
#pragma once

#include "absl/status/status.h"
#include "config/config.h"

namespace walpost {

// Asks no server. kInvalidArgument: the address of http.listen, a topic
// template or a property of Kafka is not one; or see CheckSinkOptions.
absl::Status CheckValues(const Config& config);

}  // namespace walpost
