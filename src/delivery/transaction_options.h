// Transactions of the sink: keys `delivery.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace walpost {

struct TransactionOptions {
  // delivery.guarantee: exactly_once.
  bool is_on = false;

  // A transaction is committed when it has been open for this long ...
  std::chrono::milliseconds interval{50};
  // ... or when no event has arrived for this long, whichever comes first.
  std::chrono::milliseconds idle{5};

  // Where a transaction may end.
  enum class Boundary {
    kEvent,   // behind any event
    kSource,  // behind the transaction of the source
  };
  Boundary boundary = Boundary::kEvent;

  // Limits of a transaction.
  uint64_t max_records = 1'000'000;
  size_t max_bytes = size_t{1} << 30;
  // The brokers abort a transaction after this time, so half of it is also a
  // limit.
  std::chrono::milliseconds timeout{60'000};
  // With kSource: a transaction of the source that is beyond a limit.
  enum class Oversize {
    kSplit,  // consumers may see a part of it; the log says so
    kStop,   // the flow stops before it
  };
  Oversize oversize = Oversize::kSplit;
};

}  // namespace walpost
