// DeliveryLatencies: how long events took from their commit to their
// acknowledgement: all of them, by the topic of their records, and by table.
//
// A dead letter counts for its own topic, and for the table of its event. Owned
// by the RecordSender, which labels what it sends. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "delivery/latency_histogram.h"
#include "delivery/named_latencies.h"
#include "outbox/route.h"

namespace walpost {

// What an event in flight counts for.
struct LatencyLabel {
  NamedLatencies::Index table = 0;
  NamedLatencies::Index topic = 0;

  friend bool operator==(const LatencyLabel&, const LatencyLabel&) = default;
};

class DeliveryLatencies {
 public:
  // Logical messages count as a table of their own.
  static constexpr std::string_view kMessages = "messages";

  explicit DeliveryLatencies(std::span<const Route> routes) {
    for (const Route& route : routes) {
      const bool is_table = !route.table().empty();
      tables_.push_back(is_table ? by_table_.IndexOf(route.table())
                                 : kNotNamed);
    }
  }

  // `source`: Event::source. Allocates for a name that is new.
  LatencyLabel LabelOf(size_t source, std::string_view topic) {
    NamedLatencies::Index& table = tables_[source];
    if (table == kNotNamed) table = by_table_.IndexOf(kMessages);
    return {table, by_topic_.IndexOf(topic)};
  }

  void Record(LatencyLabel label, std::chrono::microseconds latency,
              uint64_t times = 1) {
    all_.Record(latency, times);
    by_table_.Record(label.table, latency, times);
    by_topic_.Record(label.topic, latency, times);
  }

  const LatencyHistogram& all() const { return all_; }
  const NamedLatencies& by_table() const { return by_table_; }
  const NamedLatencies& by_topic() const { return by_topic_; }

 private:
  // Messages have a name from the first one on, as in RecordsByTable.
  static constexpr NamedLatencies::Index kNotNamed = 255;
  static_assert(NamedLatencies::kMaxNames < kNotNamed);

  std::vector<NamedLatencies::Index> tables_;  // by source
  LatencyHistogram all_;
  NamedLatencies by_table_;
  NamedLatencies by_topic_;
};

}  // namespace walpost
