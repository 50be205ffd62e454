#include "admin/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <vector>

namespace walpost {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kMicrosPerSecond = 1e6;

// Collects families of one metric each.
class Page {
 public:
  void Gauge(std::string name, std::string help, double value) {
    Add(std::move(name), std::move(help), MetricType::Gauge).gauge.value =
        value;
  }
  void Counter(std::string name, std::string help, uint64_t value) {
    Add(std::move(name), std::move(help), MetricType::Counter).counter.value =
        static_cast<double>(value);
  }
  ClientMetric& Add(std::string name, std::string help, MetricType type) {
    MetricFamily& family = families_.emplace_back();
    family.name = "walpost_" + std::move(name);
    family.help = std::move(help);
    family.type = type;
    return family.metric.emplace_back();
  }
  MetricFamily& last() { return families_.back(); }
  std::string Text() const {
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  std::vector<MetricFamily> families_;
};

double Seconds(std::chrono::microseconds duration) {
  return static_cast<double>(duration.count()) / kMicrosPerSecond;
}

void AddState(const RelayStatus& status, std::string_view version,
              Page& page) {
  constexpr RelayState kStates[] = {
      RelayState::kStarting, RelayState::kStreaming, RelayState::kCatchingUp,
      RelayState::kStuck, RelayState::kDraining};
  page.Add("build_info", "The version that runs; always 1", MetricType::Gauge)
      .label = {{"version", std::string(version)}};
  page.last().metric[0].gauge.value = 1;
  page.Add("state", "1 for the state that walpost is in, 0 for the others",
           MetricType::Gauge);
  page.last().metric.clear();
  for (const RelayState state : kStates) {
    ClientMetric metric;
    metric.label = {{"state", std::string(ToString(state))}};
    metric.gauge.value = state == status.state ? 1 : 0;
    page.last().metric.push_back(metric);
  }
  page.Gauge("ready", "1 when events that are committed go out",
             IsReady(status.state) ? 1 : 0);
}

void AddPositions(const RelayStatus& status, Page& page) {
  const auto lsn = [](Lsn value) { return static_cast<double>(value.value()); };
  page.Gauge("server_wal_end_bytes", "WAL position of the server, as last told",
             lsn(status.server_wal_end));
  page.Gauge("received_lsn_bytes",
             "WAL position before which everything was handed to the producer",
             lsn(status.received));
  page.Gauge("confirmed_lsn_bytes",
             "WAL position before which everything is durable in Kafka",
             lsn(status.confirmed));
  page.Gauge("lag_bytes", "WAL between the server's end and what is confirmed",
             static_cast<double>(status.lag_bytes()));
  if (status.retained_wal_bytes) {
    page.Gauge("retained_wal_bytes", "WAL that the server keeps for the slot",
               static_cast<double>(*status.retained_wal_bytes));
  }
}

void AddFlow(const RelayStatus& status, Page& page) {
  page.Gauge("in_flight_records", "Records without acknowledgement",
             static_cast<double>(status.in_flight_records));
  page.Gauge("in_flight_bytes", "Bytes without acknowledgement",
             static_cast<double>(status.in_flight_bytes));
  page.Gauge("max_in_flight_records", "Limit of walpost_in_flight_records",
             static_cast<double>(status.max_in_flight_records));
  page.Gauge("max_in_flight_bytes", "Limit of walpost_in_flight_bytes",
             static_cast<double>(status.max_in_flight_bytes));
  page.Gauge("oldest_in_flight_seconds",
             "Time since the commit of the oldest record in flight",
             Seconds(status.oldest_in_flight));
  const DeliveryCounters& counters = status.counters;
  page.Counter("events_total", "Events received, repeats included",
               counters.events);
  page.Counter("repeats_total",
               "Events passed over: in flight or acknowledged before",
               counters.repeats);
  page.Counter("produced_total", "Records handed to the producer",
               counters.produced);
  page.Counter("acknowledged_total", "Records durable at the brokers",
               counters.acknowledged);
  page.Counter("value_bytes_total", "Bytes of record values produced",
               counters.value_bytes);
  page.Counter("not_delivered_total",
               "Delivery reports other than an acknowledgement",
               counters.not_delivered);
  page.Counter("transactions_total", "Transactions received whole",
               counters.transactions);
  page.Counter("rewinds_total", "Producers given up and replaced",
               counters.rewinds);
  page.Counter("reconnects_total", "Connections to Postgres after the first",
               status.reconnects);
  page.Counter("unknown_messages_total",
               "Messages of an unknown kind, passed over (this connection)",
               status.unknown_messages);
  page.Counter("rows_of_other_tables_total",
               "Rows of tables that are not configured (this connection)",
               status.rows_of_other_tables);
}

void AddLatency(const LatencyHistogram& latency, Page& page) {
  auto& histogram =
      page.Add("commit_to_acknowledgement_seconds",
               "Time from a commit to its acknowledgement by the brokers",
               MetricType::Histogram)
          .histogram;
  histogram.sample_count = latency.count();
  histogram.sample_sum = Seconds(latency.sum());
  uint64_t cumulative = 0;
  for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    cumulative += latency.bucket(i);
    const bool last = i + 1 == LatencyHistogram::kBuckets;
    histogram.bucket.push_back(
        {cumulative, last ? std::numeric_limits<double>::infinity()
                          : Seconds(LatencyHistogram::UpperBound(i))});
  }
}

void AddProcess(Page& page) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / kMicrosPerSecond;
  };
  page.Gauge("process_cpu_seconds", "CPU time used by the process",
             seconds(usage.ru_utime) + seconds(usage.ru_stime));
  long pages = 0;
  if (std::FILE* statm = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(statm, "%*s %ld", &pages) != 1) pages = 0;
    std::fclose(statm);
  }
  page.Gauge("process_resident_memory_bytes", "Resident memory",
             static_cast<double>(pages) *
                 static_cast<double>(sysconf(_SC_PAGESIZE)));
}

}  // namespace

std::string MetricsPage(const RelayStatus& status, std::string_view version) {
  Page page;
  AddState(status, version, page);
  AddPositions(status, page);
  AddFlow(status, page);
  AddLatency(status.latency, page);
  AddProcess(page);
  return page.Text();
}

}  // namespace walpost
