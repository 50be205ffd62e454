#include "retention/partition_pruner.h"

#include <utility>

#include "fmt/format.h"
#include "postgres/sqlstate.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kStatementLimit{60};
// Nobody waits for us as long: then we give up at once.
constexpr std::chrono::seconds kGateLimit{30};
constexpr char kShortLockTimeout[] = "SET LOCAL lock_timeout = '100ms'";

}  // namespace

asio::awaitable<absl::StatusOr<uint64_t>> AddPartitions(
    Connection& connection, const OutboxShape& shape, size_t days) {
  if (shape.add_partitions.empty() || days == 0) co_return uint64_t{0};
  const std::string sql =
      fmt::format("SELECT {}({})", shape.add_partitions, days);
  connection.set_deadline(Clock::now() + kStatementLimit);
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  co_return rows->Unsigned(0, 0);
}

asio::awaitable<absl::Status> PartitionPruner::Execute(std::string sql) {
  connection_.set_deadline(Clock::now() + kStatementLimit);
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  co_return rows.status();
}

asio::awaitable<absl::Status> PartitionPruner::MayDrop(std::string partition) {
  if (proof_ == SentProof::kSlot) co_return absl::OkStatus();
  co_return co_await CheckAllSent(std::move(partition));
}

asio::awaitable<absl::Status> PartitionPruner::Drop(std::string partition) {
  const std::string begin = "BEGIN";
  const std::string commit = "COMMIT";
  const std::string rollback = "ROLLBACK";
  // A look beforehand: nobody waits for a lock on what stays anyway.
  absl::Status status = co_await MayDrop(partition);
  if (!status.ok()) co_return status;
  status = co_await Execute(begin);
  if (status.ok()) status = co_await DropLocked(partition);
  if (status.ok()) co_return co_await Execute(commit);
  const absl::Status rolled_back = co_await Execute(rollback);
  if (!rolled_back.ok()) co_return rolled_back;
  if (SqlstateOf(status) == kSqlstateLockNotAvailable) {
    co_return absl::UnavailableError("in use: it, or the outbox, is locked");
  }
  co_return status;
}

asio::awaitable<absl::Status> PartitionPruner::DropLocked(
    std::string partition) {
  const std::string timeout = kShortLockTimeout;
  absl::Status status = co_await Execute(timeout);
  if (!status.ok()) co_return status;
  const std::string lock =
      fmt::format("LOCK TABLE {} IN SHARE MODE", partition);
  status = co_await Execute(lock);
  if (!status.ok()) co_return status;
  status = co_await CheckAllSent(partition);
  if (!status.ok()) co_return status;
  const std::string drop = fmt::format("DROP TABLE {}", partition);
  co_return co_await Execute(drop);
}

asio::awaitable<absl::Status> PartitionPruner::CheckAllSent(
    std::string partition) {
  if (proof_ == SentProof::kSlot) {
    const MonotonicTime deadline = Clock::now() + kGateLimit;
    absl::StatusOr<AcknowledgedGate::Mark> mark = co_await gate_.TakeMark();
    if (!mark.ok()) co_return mark.status();
    co_return co_await gate_.WaitUntilPassed(*mark, deadline, partition);
  }
  const std::string sql =
      fmt::format("SELECT EXISTS (SELECT FROM {} o WHERE ({}) IS NOT TRUE)",
                  partition, sent_);
  connection_.set_deadline(Clock::now() + kStatementLimit);
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  if (!rows->Bool(0, 0)) co_return absl::OkStatus();
  co_return absl::UnavailableError("it holds rows that are not published");
}

}  // namespace walpost
