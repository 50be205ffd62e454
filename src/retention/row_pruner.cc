#include "retention/row_pruner.h"

#include "base/status_macros.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::minutes kBatchLimit{5};
constexpr std::chrono::minutes kRowCountLimit{30};

}  // namespace

asio::awaitable<absl::Status> RowPruner::Run(Mode mode, Counts& counts) {
  if (mode == Mode::kDelete) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Delete(counts.deleted));
  }
  const std::string sql = CountOldSql(rule_);
  connection_.set_deadline(Clock::now() + kRowCountLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  if (mode == Mode::kDryRun) counts.deleted += rows.Unsigned(0, 0);
  counts.kept += rows.Unsigned(0, 1);
  counts.unproven += rows.Unsigned(0, 2);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> RowPruner::Delete(uint64_t& deleted) {
  std::string from;
  for (;;) {
    if (is_stopped_()) co_return absl::CancelledError("told to end");
    const std::string sql = DeleteBatchSql(rule_, from, options_.batch_rows);
    connection_.set_deadline(Clock::now() + kBatchLimit);
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                                co_await connection_.Execute(sql));
    const uint64_t batch = rows.Unsigned(0, 0);
    deleted += batch;
    if (batch < options_.batch_rows) co_return absl::OkStatus();
    from = rows.Text(0, 1);
    timer_.expires_after(options_.pause);
    co_await timer_.async_wait(kAsTuple);
  }
}

}  // namespace walpost
