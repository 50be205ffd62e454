// Latencies as families of the metrics page.
#pragma once

#include <string>

#include "admin/metrics_writer.h"
#include "delivery/latency_histogram.h"
#include "delivery/named_latencies.h"

namespace walpost {

void AddHistogram(std::string name, std::string help,
                  const LatencyHistogram& latency, MetricsWriter& page);

// One for each value of `label`.
void AddHistograms(std::string name, std::string help, const std::string& label,
                   const NamedLatencies& latencies, MetricsWriter& page);

}  // namespace walpost
