#include "admin/metrics_writer.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace walpost {

namespace {

double InSeconds(std::chrono::microseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

constexpr double kNoBound = std::numeric_limits<double>::infinity();

// `count`: what is in this bucket alone. The last one completes the histogram.
void AddBucket(uint64_t count, double upper_bound,
               prometheus::ClientMetric::Histogram& histogram) {
  histogram.sample_count += count;
  histogram.bucket.push_back(
      {.cumulative_count = histogram.sample_count, .upper_bound = upper_bound});
}

}  // namespace

void AddHistogram(std::string name, std::string help,
                  const LatencyHistogram& latency, MetricsWriter& page) {
  page.Family(std::move(name), std::move(help),
              prometheus::MetricType::Histogram);
  prometheus::ClientMetric::Histogram& histogram = page.Sample().histogram;
  histogram.sample_sum = InSeconds(latency.sum());
  for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    AddBucket(latency.bucket(i),
              i + 1 == LatencyHistogram::kBuckets
                  ? kNoBound
                  : InSeconds(LatencyHistogram::UpperBound(i)),
              histogram);
  }
}

void AddHistograms(std::string name, std::string help, const std::string& label,
                   const NamedLatencies& latencies, MetricsWriter& page) {
  page.Family(std::move(name), std::move(help),
              prometheus::MetricType::Histogram);
  latencies.ForEach(
      [&](std::string_view value, const NamedLatencies::Latencies& of_value) {
        prometheus::ClientMetric& sample = page.Sample();
        sample.label = {{label, std::string(value)}};
        sample.histogram.sample_sum = InSeconds(of_value.sum);
        for (size_t i = 0; i < NamedLatencies::kBuckets; ++i) {
          AddBucket(of_value.buckets[i],
                    i == NamedLatencies::kUpperBounds.size()
                        ? kNoBound
                        : InSeconds(NamedLatencies::kUpperBounds[i]),
                    sample.histogram);
        }
      });
}

}  // namespace walpost
