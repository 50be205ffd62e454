#include "polling/lock_poller.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

LockPoller::LockPoller(asio::any_io_executor executor, Options options,
                       Outbound& outbound)
    : TablePoller(executor, std::move(options), outbound),
      kafka_backoff_(RetryBackoff(), std::random_device()()) {}

MonotonicTime LockPoller::purge_at() const {
  return flight_.in_flight() == 0 ? MonotonicTime::max() : deadline_;
}

asio::awaitable<absl::Status> LockPoller::BeginSession() {
  // From an ended transaction; its rows may be anybody's.
  flight_.TakeFinished();
  next_at_ = MonotonicTime();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LockPoller::Serve() {
  while (!stopping()) {
    absl::Status status = co_await ReportIfDue();
    if (!status.ok()) co_return status;
    const MonotonicTime now = Clock::now();
    const bool ready = outbound_.WantsRows(now) && now >= kafka_again_at_;
    if (ready && now >= next_at_) {
      status = co_await Batch();
      // Without its transaction nothing holds the rows any more.
      deadline_ = MonotonicTime();
      if (!status.ok()) co_return status;
      continue;
    }
    const MonotonicTime next = ready ? next_at_ : now + kNotReadyPause;
    const MonotonicTime until = std::min(next, report_at());
    status = co_await Pause(until);
    if (!status.ok()) co_return status;
    if (TakeNotified()) next_at_ = std::min(next_at_, Clock::now());
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LockPoller::Batch() {
  TakeNotified();
  const MonotonicTime begun = Clock::now();
  deadline_ = begun + options_.polling.transaction_timeout;
  const std::string begin = "BEGIN";
  absl::Status status = co_await Execute(begin);
  if (!status.ok()) co_return status;
  const ClaimSql sql = MakeClaimSql();
  const std::vector<std::string> waiting = memory_.Waiting(begun);
  const std::string lock =
      sql.Lock(outbound_.MostRows(portion_), waiting, far());
  absl::StatusOr<QueryRows> rows = co_await Query(lock);
  if (!rows.ok()) co_return rows.status();
  NoteLook(rows->size());
  const MonotonicTime now = Clock::now();
  next_at_ = rows->size() == 0 ? now + options_.polling.interval : now;
  portion_.OnRead(rows->size(), BytesOf(*rows, table_->schema.columns.size()));
  SendRows(*rows, now);
  status = co_await WaitForBrokers();
  if (status.ok()) status = co_await Settle();
  co_return status;
}

asio::awaitable<absl::Status> LockPoller::WaitForBrokers() {
  while (flight_.in_flight() > 0 && Clock::now() < deadline_) {
    const MonotonicTime until = deadline_;
    const absl::Status status = co_await Pause(until);
    TakeNotified();
    if (!status.ok()) co_return status;
  }
  if (flight_.in_flight() == 0) co_return absl::OkStatus();
  const std::string reason =
      fmt::format("Kafka did not acknowledge within the transaction's {} ms",
                  options_.polling.transaction_timeout.count());
  co_await CallBack(reason);
  kafka_again_at_ = Clock::now() + kafka_backoff_.Next();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LockPoller::Settle() {
  const MonotonicTime now = Clock::now();
  const auto finished =
      std::make_unique<RowFlight::Finished>(flight_.TakeFinished());
  const ClaimSql sql = MakeClaimSql();
  std::vector<std::string> statements;
  if (!finished->acknowledged.empty()) {
    kafka_backoff_.Reset();
    for (const auto& row : finished->acknowledged) memory_.Forget(row.id);
    const std::vector<std::string> ids = IdsOf(finished->acknowledged);
    statements.push_back(is_delete() ? sql.Delete(ids)
                                     : sql.MarkPublished(ids));
  }
  if (finished->acknowledged.empty() && !finished->refused.empty()) {
    next_at_ = std::max(next_at_, now + options_.polling.interval);
  }
  for (const RowFlight::Refusal& refusal : finished->refused) {
    statements.push_back(NoteRefusal(refusal, now));
  }
  statements.push_back(statements.empty() ? "ROLLBACK" : "COMMIT");
  // The next transaction with them marks them, without sending them again.
  for (const auto& row : finished->acknowledged) unmarked_.insert(row.id);
  absl::Status status;
  for (std::string& statement : statements) {
    if (statement.empty()) continue;
    status = co_await Execute(std::move(statement));
    if (!status.ok()) break;
  }
  NoteSettled(status);
  if (status.ok()) unmarked_.clear();
  co_return status;
}

}  // namespace walpost
