// RetentionKeeper: prunes every now and then, beside the stream.
//
// Only while this instance is the one that streams: then its slot is known to
// be whole, and a standby leaves it alone. A pass ends when the stream does,
// and the next one begins when it is back. What goes wrong is logged and tried
// again at the next interval; the stream goes on. What is kept is logged when
// it changes.
//
// Owned by `run`, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/config.h"
#include "delivery/retention_report.h"
#include "retention/pruner.h"

namespace walpost {

// What the configuration says about pruning.
Pruner::Options PrunerOptions(const Config& config);

class RetentionKeeper {
 public:
  RetentionKeeper(boost::asio::any_io_executor executor, const Config& config,
                  std::function<bool()> is_streaming);

  // Returns at once when retention.keep is not set, else runs on.
  boost::asio::awaitable<void> Run();

  // One per table, the pass that is under way included; empty when
  // retention.keep is not set.
  std::vector<RetentionReport> Report() const;

 private:
  // kCancelled: the stream ended in the middle.
  boost::asio::awaitable<absl::Status> Prune();
  void Log(size_t table, const Pruned& pruned);
  void LogEnd(const absl::Status& status);
  boost::asio::awaitable<void> Wait(std::chrono::milliseconds time);

  boost::asio::any_io_executor executor_;
  Pruner::Options options_;
  std::function<bool()> is_streaming_;
  boost::asio::steady_timer timer_;
  std::vector<RetentionReport> ended_passes_;  // one per table
  std::vector<std::string> kept_;              // what was logged last, likewise
  std::vector<std::vector<std::string>> not_dropped_;  // likewise
  std::string trouble_;                                // likewise, of the whole
  const Pruner* pass_ = nullptr;                       // that is under way
};

}  // namespace walpost
