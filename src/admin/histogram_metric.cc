#include "admin/histogram_metric.h"

#include <chrono>
#include <limits>
#include <utility>

namespace walpost {
namespace {

double InSeconds(std::chrono::microseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void AddHistogram(std::string name, std::string help,
                  const LatencyHistogram& latency, MetricsWriter& page) {
  page.Family(std::move(name), std::move(help),
              prometheus::MetricType::Histogram);
  prometheus::ClientMetric::Histogram& histogram = page.Sample().histogram;
  histogram.sample_count = latency.count();
  histogram.sample_sum = InSeconds(latency.sum());
  uint64_t cumulative = 0;
  for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    cumulative += latency.bucket(i);
    const bool takes_the_rest = i + 1 == LatencyHistogram::kBuckets;
    const double bound = takes_the_rest
                             ? std::numeric_limits<double>::infinity()
                             : InSeconds(LatencyHistogram::UpperBound(i));
    histogram.bucket.push_back(
        {.cumulative_count = cumulative, .upper_bound = bound});
  }
}

}  // namespace walpost
