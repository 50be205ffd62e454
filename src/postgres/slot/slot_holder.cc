#include "postgres/slot/slot_holder.h"

#include <chrono>

#include "base/sql_name.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "postgres/connect/session_name.h"
#include "postgres/connect/session_wait.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// A live walpost reports to the server every three seconds.
constexpr std::chrono::seconds kSilenceOfTheDead{5};
constexpr std::chrono::seconds kSilentAfter{8};

double SecondsOf(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

bool SlotHolder::is_walpost() const { return IsOfSlot(user_, slot_); }

// A predecessor that streamed is silent by the clock of its host, which is
// ours. One that was creating the slot has never reported: its backend is older
// than this process. A live process in another container may have a pid that
// does not exist in ours, so the name alone proves nothing.
//
// To a role without pg_read_all_stats, pg_stat_replication shows only pids,
// even for the role's own sessions. pg_stat_activity shows the role's sessions:
// the side session of a live walpost runs a query every two seconds.
asio::awaitable<absl::Status> SlotHolder::Look(Connection& connection,
                                               MonotonicTime now) {
  const std::string sql = fmt::format(
      "SELECT a.pid, a.application_name, s.confirmed_flush_lsn IS NULL, "
      "coalesce(r.reply_time, side.asked_at), "
      "coalesce(r.reply_time < to_timestamp({}), false), "
      "coalesce(a.backend_start < to_timestamp({}), false) "
      "FROM pg_catalog.pg_replication_slots s "
      "JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid "
      "LEFT JOIN pg_catalog.pg_stat_replication r ON r.pid = s.active_pid "
      "CROSS JOIN LATERAL (SELECT max(CASE o.state WHEN 'idle' THEN "
      "o.state_change ELSE clock_timestamp() END) AS asked_at "
      "FROM pg_catalog.pg_stat_activity o WHERE o.pid <> a.pid AND "
      "o.state IS NOT NULL AND "
      "o.application_name = left(a.application_name || ':side', 63)) side "
      "WHERE s.slot_name = {}",
      SecondsOf(WallNow() - kSilenceOfTheDead), SecondsOf(our_start_),
      connection.Literal(slot_));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  user_.clear();
  trouble_.clear();
  doubt_.clear();
  is_dead_ = false;
  if (rows.size() == 0) co_return absl::OkStatus();
  user_ = rows.Text(0, 1);
  if (!rows.Get(0, 3)) {
    doubt_ = fmt::format(
        "cannot see whether it still runs: GRANT pg_read_all_stats TO {};",
        QuoteName(PQuser(connection.raw())));
  }
  NoteReply(rows.Text(0, 0), rows.Text(0, 3), now);
  const bool is_creating = rows.Bool(0, 2);
  const bool is_old = rows.Bool(0, 4) || (is_creating && rows.Bool(0, 5));
  is_dead_ = (is_old && name_.IsDeadPredecessor(user_, &ProcessIsAlive)) ||
             (pid_ == own_pid_ && user_ == name_.text());
  if (is_creating) {
    trouble_ = fmt::format("slot {} is being created by {} (pid {})", slot_,
                           user_, pid_);
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<bool>> SlotHolder::FindOthers(
    Connection& connection) {
  const std::string sql = fmt::format(
      "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_stat_activity WHERE "
      "starts_with(application_name, {}) AND application_name LIKE '%:side' "
      "AND NOT starts_with(application_name, {}))",
      connection.Literal(SessionPrefix(slot_)),
      connection.Literal(name_.text() + ":"));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.Bool(0, 0);
}

void SlotHolder::NoteReply(const std::string& pid,
                           const std::string& reply_time, MonotonicTime now) {
  if (pid != pid_ || reply_time != reply_time_) reply_changed_at_ = now;
  pid_ = pid;
  reply_time_ = reply_time;
  const auto silent = now - reply_changed_at_;
  if (!is_walpost() || reply_time.empty() || silent < kSilentAfter) return;
  trouble_ = fmt::format(
      "slot {} is in use by {}, which has not reported for {} s: it is frozen "
      "or cut off. The server ends its walsender after wal_sender_timeout, or "
      "at once with SELECT pg_terminate_backend({});",
      slot_, user_,
      std::chrono::duration_cast<std::chrono::seconds>(silent).count(), pid_);
}

asio::awaitable<void> SlotHolder::EndDeadPredecessor(Connection& connection) {
  if (!is_dead_) co_return;
  LogWarn("terminating the backend (pid {}) that {} left behind", pid_, user_);
  const std::string end =
      fmt::format("SELECT pg_catalog.pg_terminate_backend({})", pid_);
  absl::StatusOr<QueryRows> ended = co_await connection.Execute(end);
  if (!ended.ok()) LogWarn("{}", std::string(ended.status().message()));
}

asio::awaitable<absl::StatusOr<std::string>> DescribeSlotCreation(
    Connection& connection, std::string slot) {
  const std::string ours = SessionPrefix(slot);
  const std::string find = fmt::format(
      "SELECT s.slot_name, s.active_pid, a.application_name "
      "FROM pg_catalog.pg_replication_slots s "
      "JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid "
      "WHERE s.slot_type = 'logical' AND s.confirmed_flush_lsn IS NULL AND "
      "(s.slot_name = {} OR starts_with(a.application_name, {})) LIMIT 1",
      connection.Literal(slot), connection.Literal(ours));
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(find);
  if (!rows.ok()) co_return rows.status();
  if (rows->size() == 0) co_return std::string();
  const std::string pid = rows->Text(0, 1);
  std::string text = fmt::format("slot {} is being created by {} (pid {})",
                                 rows->Text(0, 0), rows->Text(0, 2), pid);
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string blockers,
                              co_await DescribeBlockers(connection, pid));
  if (!blockers.empty()) {
    text += fmt::format(", which waits for transactions to end: {}", blockers);
  }
  co_return text;
}

}  // namespace walpost
