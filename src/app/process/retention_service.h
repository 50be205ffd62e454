// RetentionService: prunes regularly, beside the stream.
//
// It prunes only while this instance streams: then its slot is known to be
// intact, and a standby does not interfere. A pass stops when the stream does,
// and the next one begins when the stream is back. A failure is logged and
// tried again at the next interval; the stream continues. Kept rows are logged
// when their number or reason changes.
//
// Owned by `run`, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "config/config.h"
#include "health/relay_status.h"
#include "retention/pruner.h"

namespace walpost {

// Pruning options from the configuration.
Pruner::Options PrunerOptions(const Config& config);

class RetentionService {
 public:
  RetentionService(boost::asio::any_io_executor executor, const Config& config,
                   std::function<bool()> is_streaming);

  // Returns at once if retention.keep is not set, else runs on.
  boost::asio::awaitable<void> Run();

  // One per table, including the current pass; empty if retention.keep is not
  // set.
  std::vector<RetentionReport> Report() const;

 private:
  // kCancelled: the stream stopped in the middle.
  boost::asio::awaitable<absl::Status> Prune();
  void LogPruned(size_t table, const Pruned& pruned);
  void LogEnd(const absl::Status& status);
  boost::asio::awaitable<void> Wait(std::chrono::milliseconds time);

  boost::asio::any_io_executor executor_;
  Pruner::Options options_;
  std::function<bool()> is_streaming_;
  boost::asio::steady_timer timer_;
  std::vector<RetentionReport> ended_passes_;          // one per table
  std::vector<std::string> reasons_to_keep_;           // logged last, likewise
  std::vector<std::vector<std::string>> not_dropped_;  // likewise
  std::string trouble_;                                // likewise, for a pass
  std::optional<MonotonicTime> passed_at_;             // without an error
  const Pruner* pass_ = nullptr;                       // the current pass
};

}  // namespace walpost
