// A LatencyHistogram as a family of the metrics page.
#pragma once

#include <string>

#include "admin/metrics_writer.h"
#include "delivery/latency_histogram.h"

namespace walpost {

void AddHistogram(std::string name, std::string help,
                  const LatencyHistogram& latency, MetricsWriter& page);

}  // namespace walpost
