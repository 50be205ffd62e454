#include "retention/partition_pruner.h"

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kPartitionLimit{60};
constexpr std::chrono::minutes kCountLimit{30};
// 40 MB: takes some tens of milliseconds.
constexpr uint64_t kPagesAtOnce = 5'000;
constexpr char kShortLockTimeout[] = "SET LOCAL lock_timeout = '100ms'";

absl::Status Unsent(SentProof proof) {
  return absl::UnavailableError(proof == SentProof::kSlot
                                    ? "it holds rows that are not confirmed yet"
                                    : "it holds rows that are not published");
}

}  // namespace

asio::awaitable<absl::StatusOr<uint64_t>> AddPartitions(
    Connection& connection, const OutboxShape& shape, size_t days) {
  if (shape.add_partitions.empty() || days == 0) co_return uint64_t{0};
  const std::string sql =
      fmt::format("SELECT {}({})", shape.add_partitions, days);
  connection.set_deadline(Clock::now() + kPartitionLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.Unsigned(0, 0);
}

asio::awaitable<absl::Status> PartitionPruner::Execute(std::string sql) {
  connection_.set_deadline(Clock::now() + kPartitionLimit);
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  co_return rows.status();
}

asio::awaitable<absl::StatusOr<bool>> PartitionPruner::IsTrue(std::string sql) {
  connection_.set_deadline(Clock::now() + kPartitionLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  co_return rows.Bool(0, 0);
}

asio::awaitable<absl::Status> PartitionPruner::MayDrop(PruneRule rule) {
  const std::string sql = CountUnsentSql(rule);
  connection_.set_deadline(Clock::now() + kCountLimit);
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  const uint64_t unsent = rows->Unsigned(0, 1);
  const uint64_t unproven = rows->Unsigned(0, 2);
  kept_ += unsent;
  unproven_ += unproven;
  if (unsent == 0) co_return absl::OkStatus();
  if (unproven > 0) {
    co_return absl::UnavailableError(fmt::format(
        "it holds {} rows without proof that they were sent", unproven));
  }
  co_return Unsent(proof_);
}

asio::awaitable<absl::Status> PartitionPruner::Drop(PruneRule rule) {
  const std::string begin = "BEGIN";
  const std::string commit = "COMMIT";
  const std::string rollback = "ROLLBACK";
  // Checked first, so that nobody waits for a lock on a partition that stays.
  absl::Status status = co_await MayDrop(rule);
  if (!status.ok()) co_return status;
  status = co_await Execute(begin);
  if (status.ok()) status = co_await DropLocked(rule);
  if (status.ok()) co_return co_await Execute(commit);
  WALPOST_CO_RETURN_IF_ERROR(co_await Execute(rollback));
  if (SqlstateOf(status) == kSqlstateLockNotAvailable) {
    co_return absl::UnavailableError("in use: it, or the outbox, is locked");
  }
  co_return status;
}

asio::awaitable<absl::Status> PartitionPruner::DropLocked(PruneRule rule) {
  const std::string timeout = kShortLockTimeout;
  absl::Status status = co_await Execute(timeout);
  if (!status.ok()) co_return status;
  const std::string lock =
      fmt::format("LOCK TABLE {} IN SHARE MODE", rule.table);
  status = co_await Execute(lock);
  if (!status.ok()) co_return status;
  status = co_await CheckAgain(rule);
  if (!status.ok()) co_return status;
  const std::string drop = fmt::format("DROP TABLE {}", rule.table);
  co_return co_await Execute(drop);
}

asio::awaitable<absl::Status> PartitionPruner::CheckAgain(PruneRule rule) {
  if (proof_ == SentProof::kSlot) co_return co_await CheckPages(rule);
  const std::string sql =
      fmt::format("SELECT EXISTS (SELECT FROM {} o WHERE ({}) IS NOT TRUE)",
                  rule.table, rule.sent);
  WALPOST_CO_ASSIGN_OR_RETURN(bool holds_unsent, co_await IsTrue(sql));
  co_return holds_unsent ? Unsent(proof_) : absl::OkStatus();
}

asio::awaitable<absl::Status> PartitionPruner::CheckPages(PruneRule rule) {
  // The largest one, if the partition has partitions itself.
  const std::string size = fmt::format(
      "SELECT coalesce(max(pg_relation_size(relid)), 0) / "
      "current_setting('block_size')::bigint FROM "
      "(SELECT to_regclass({0}) AS relid UNION "
      "SELECT relid FROM pg_partition_tree(to_regclass({0}))) tree",
      connection_.Literal(rule.table));
  connection_.set_deadline(Clock::now() + kPartitionLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(size));
  const uint64_t pages = rows.Unsigned(0, 0);
  for (uint64_t from = 0; from < pages; from += kPagesAtOnce) {
    const std::string sql = UnsentInPagesSql(rule, from, from + kPagesAtOnce);
    WALPOST_CO_ASSIGN_OR_RETURN(bool holds_unsent, co_await IsTrue(sql));
    if (holds_unsent) co_return Unsent(proof_);
    WALPOST_CO_RETURN_IF_ERROR(co_await CheckNobodyWaits(rule.table));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> PartitionPruner::CheckNobodyWaits(
    std::string partition) {
  const std::string sql = fmt::format(
      "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted "
      "AND relation = to_regclass({}))",
      connection_.Literal(partition));
  WALPOST_CO_ASSIGN_OR_RETURN(bool waits, co_await IsTrue(sql));
  if (!waits) co_return absl::OkStatus();
  co_return absl::UnavailableError("in use: somebody writes to it");
}

}  // namespace walpost
