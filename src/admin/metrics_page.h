// The /metrics page, in Prometheus' text format 0.0.4.
#pragma once

#include <string>
#include <string_view>

#include "delivery/relay_status.h"

namespace walpost {

std::string MetricsPage(const RelayStatus& status, std::string_view version);

}  // namespace walpost
