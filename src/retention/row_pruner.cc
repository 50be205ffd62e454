#include "retention/row_pruner.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::minutes kBatchLimit{5};
constexpr std::chrono::minutes kCountLimit{30};

}  // namespace

asio::awaitable<absl::Status> RowPruner::Run(Mode mode, Counts& counts) {
  if (mode == Mode::kDelete) {
    const absl::Status status = co_await Delete(counts.deleted);
    if (!status.ok()) co_return status;
  }
  const std::string sql = CountOldSql(rule_);
  connection_.set_deadline(Clock::now() + kCountLimit);
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  if (mode == Mode::kDryRun) counts.deleted += rows->Unsigned(0, 0);
  counts.kept += rows->Unsigned(0, 1);
  counts.unproven += rows->Unsigned(0, 2);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> RowPruner::Delete(uint64_t& deleted) {
  constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
  std::string from;
  for (;;) {
    if (is_stopped_()) co_return absl::CancelledError("told to end");
    const std::string sql = DeleteBatchSql(rule_, from, options_.batch_rows);
    connection_.set_deadline(Clock::now() + kBatchLimit);
    absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
    if (!rows.ok()) co_return rows.status();
    const uint64_t batch = rows->Unsigned(0, 0);
    deleted += batch;
    if (batch < options_.batch_rows) co_return absl::OkStatus();
    from = rows->Text(0, 1);
    timer_.expires_after(options_.pause);
    co_await timer_.async_wait(kAsTuple);
  }
}

}  // namespace walpost
