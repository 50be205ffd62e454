// RowPruner: deletes the old rows of one table that were sent, in batches.
//
// Each batch is a transaction of its own: killed at any point, it leaves
// nothing half done, and the next one goes on where the rows are.
//
// Owned by the Pruner, with its connection.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "retention/prune_sql.h"
#include "retention/retention_options.h"

namespace walpost {

class RowPruner {
 public:
  struct Counts {
    uint64_t deleted = 0;
    // Older than the limit and not deleted: not sent, or failed.
    uint64_t kept = 0;
    // Of these: not covered (prune_sql.h), so that it needs an operator's word.
    uint64_t unproven = 0;
  };
  enum class Mode { kDelete, kDryRun };

  // `connection` and `is_stopped`, asked between batches, outlive this object.
  RowPruner(boost::asio::any_io_executor executor, Connection& connection,
            PruneRule rule, const RetentionOptions& options,
            const std::function<bool()>& is_stopped)
      : connection_(connection),
        rule_(std::move(rule)),
        options_(options),
        is_stopped_(is_stopped),
        timer_(executor) {}

  // Adds to `counts` as it goes, so that they hold after an error, too; in a
  // dry run `deleted` is what would be. kCancelled: stopped.
  boost::asio::awaitable<absl::Status> Run(Mode mode, Counts& counts);

 private:
  boost::asio::awaitable<absl::Status> Delete(uint64_t& deleted);

  Connection& connection_;
  PruneRule rule_;
  const RetentionOptions& options_;
  const std::function<bool()>& is_stopped_;
  boost::asio::steady_timer timer_;
};

}  // namespace walpost
