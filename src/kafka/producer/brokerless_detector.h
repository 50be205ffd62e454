// BrokerlessDetector: says when a client has lost all of its brokers for good.
//
// An answer with topics but without a broker (a cluster whose brokers are all
// fenced) makes librdkafka 2.10 and later drop every known broker, including
// the bootstrap servers. If it adds those again before the old ones are
// removed, it has none left, and never connects again. If a transaction's
// coordinator refers to one, that one stays, but nothing connects to it.
//
// Owned by the Producer. Pure.
#pragma once

#include "kafka/producer/producer_statistics.h"

namespace walpost {

class BrokerlessDetector {
 public:
  // Statistics in a row that have none: the client may only just begin.
  static constexpr int kMaxReports = 2;

  // Call it for each statistics event. `is_queued`: records wait for a report.
  // True: another client is needed.
  bool OnStatistics(const ProducerStatistics& statistics, bool is_queued) {
    const bool has_no_broker = statistics.is_brokerless ||
                               (statistics.has_coordinator_only && is_queued);
    reports_ = has_no_broker ? reports_ + 1 : 0;
    if (reports_ < kMaxReports) return false;
    reports_ = 0;
    return true;
  }

 private:
  int reports_ = 0;
};

}  // namespace walpost
