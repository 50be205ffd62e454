// The /metrics page, in Prometheus' text format 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
//
// Names begin with walpost_ and end in their unit. LSNs are plain byte
// positions, so that their differences and rates are bytes of WAL; doubles hold
// them exactly up to 8 PiB of WAL. Unknown values are left out instead of shown
// as zero.
#pragma once

#include <string>
#include <string_view>

#include "admin/process_usage.h"
#include "health/relay_status.h"

namespace walpost {

std::string MetricsPage(const RelayStatus& status, const ProcessUsage& usage,
                        std::string_view version);

}  // namespace walpost
