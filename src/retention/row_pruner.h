// RowPruner: deletes the old rows of a table that were sent, in batches.
//
// Each batch is a transaction: if killed at any point, no batch is half done,
// and the next run continues with the remaining rows.
//
// Owned by the Pruner, with its connection.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>

#include "postgres/connect/connection.h"
#include "retention/prune_sql.h"
#include "retention/retention_options.h"

namespace walpost {

class RowPruner {
 public:
  struct Counts {
    uint64_t deleted = 0;
    // Older than the limit and not deleted: not sent, or failed.
    uint64_t kept = 0;
    // Among these: not covered (prune_sql.h); an operator must decide.
    uint64_t unproven = 0;
  };
  enum class Mode { kDelete, kDryRun };

  // `connection` and `is_stopped`, called between batches, outlive this object.
  RowPruner(boost::asio::any_io_executor executor, Connection& connection,
            PruneRule rule, const RetentionOptions& options,
            const std::function<bool()>& is_stopped)
      : connection_(connection),
        rule_(std::move(rule)),
        options_(options),
        is_stopped_(is_stopped),
        timer_(executor) {}

  // Adds to `counts` during the run, so that they are also right after an
  // error. In a dry run `deleted` is the expected number. kCancelled: stopped.
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
