// RetentionKeeper: prunes every now and then, beside the stream.
//
// Only while this instance is the one that streams: then its slot is known to
// be whole, and a standby leaves it alone. What goes wrong is logged and tried
// again at the next interval; it is no trouble for the stream.
//
// Owned by `run`, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <vector>

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
  boost::asio::awaitable<void> Prune();
  boost::asio::awaitable<void> Wait(std::chrono::milliseconds time);

  boost::asio::any_io_executor executor_;
  Pruner::Options options_;
  std::function<bool()> is_streaming_;
  boost::asio::steady_timer timer_;
  std::vector<RetentionReport> ended_passes_;  // one per table
  const Pruner* pass_ = nullptr;               // that is under way
};

}  // namespace walpost
