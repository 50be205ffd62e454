// TransactionReport: the Kafka transactions of a relay, for metrics and status.
#pragma once

#include <chrono>
#include <cstdint>

#include "delivery/latency_histogram.h"

namespace walpost {

struct TransactionReport {
  uint64_t committed = 0;
  uint64_t given_up = 0;  // aborted, or their outcome is not known
  uint64_t fenced = 0;    // likewise, because another producer took over
  uint64_t records = 0;   // of committed transactions
  uint64_t splits = 0;    // transactions of Postgres in several of ours
  LatencyHistogram commit_time;
  std::chrono::milliseconds open_for{0};  // the present one; 0: it is empty
  // How long records have been hidden from consumers of committed records.
  std::chrono::milliseconds hidden_for{0};
};

}  // namespace walpost
