// MetricsWriter: collects the values of the metrics page, family by family.
//
//   page.Gauge("walpost_lag_bytes", "WAL that is ...", lag);
//   page.Family("walpost_state", "1 for the current state.", type);
//   page.OneOfMany("state", "streaming", true);
//   page.Finish();   // in Prometheus' text format
#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lsn.h"
#include "delivery/latency_histogram.h"
#include "delivery/named_latencies.h"

namespace walpost {

class MetricsWriter {
 public:
  void Gauge(std::string name, std::string help, double value) {
    Family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
    Sample().gauge.value = value;
  }
  void Gauge(std::string name, std::string help, uint64_t value) {
    Gauge(std::move(name), std::move(help), static_cast<double>(value));
  }
  void Gauge(std::string name, std::string help, Lsn value) {
    Gauge(std::move(name), std::move(help), value.value());
  }
  void Counter(std::string name, std::string help, double value) {
    Family(std::move(name), std::move(help), prometheus::MetricType::Counter);
    Sample().counter.value = value;
  }
  void Counter(std::string name, std::string help, uint64_t value) {
    Counter(std::move(name), std::move(help), static_cast<double>(value));
  }
  // Always 1: the labels hold the information.
  void Info(std::string name, std::string help,
            std::vector<prometheus::ClientMetric::Label> labels) {
    Family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
    prometheus::ClientMetric& sample = Sample();
    sample.label = std::move(labels);
    sample.gauge.value = 1;
  }

  // Opens a family; Sample adds to the last one.
  void Family(std::string name, std::string help, prometheus::MetricType type) {
    prometheus::MetricFamily& family = families_.emplace_back();
    family.name = std::move(name);
    family.help = std::move(help);
    family.type = type;
  }
  prometheus::ClientMetric& Sample() {
    return families_.back().metric.emplace_back();
  }
  // One counter of a family.
  void Count(std::string label, std::string_view value, uint64_t count) {
    prometheus::ClientMetric& sample = Sample();
    sample.label = {{std::move(label), std::string(value)}};
    sample.counter.value = static_cast<double>(count);
  }
  // One of a set of gauges, of which exactly one is 1.
  void OneOfMany(std::string label, std::string_view value, bool is_this_one) {
    prometheus::ClientMetric& sample = Sample();
    sample.label = {{std::move(label), std::string(value)}};
    sample.gauge.value = is_this_one ? 1 : 0;
  }

  std::string Finish() const {
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

// Adds latencies as a family of the metrics page.
void AddHistogram(std::string name, std::string help,
                  const LatencyHistogram& latency, MetricsWriter& page);

// One for each value of `label`.
void AddHistograms(std::string name, std::string help, const std::string& label,
                   const NamedLatencies& latencies, MetricsWriter& page);

}  // namespace walpost
