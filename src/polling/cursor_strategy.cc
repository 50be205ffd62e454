// CursorStrategy: for tables whose rows are never written again. The position
// is in a table of the same database (sql/cursor.sql), and moves when the
// brokers have acknowledged.
//
//   save, as a test ─▶ open a window ─▶ fetch ─▶ send ─▶ wait for
//   the brokers ─▶ save ─▶ fetch ...
//
// Only one poller at a time has a table's cursor: it holds an advisory lock,
// others are standbys. A row that cannot be delivered stops the table before it
// and is reported: there is no place to note that it was skipped.
#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/backoff.h"
#include "base/read_refusal.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "polling/cursor_position.h"
#include "polling/cursor_rows.h"
#include "polling/cursor_sql.h"
#include "polling/polling_strategy.h"
#include "postgres/connect/sqlstate.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// The rows of one fetch, while they are sent.
struct Batch {
  std::vector<std::string> ids;
  std::vector<int64_t> places;
  bool is_last = false;  // of its window
};
// For a table from another cluster: rows that were not published there.
struct Restore {
  ServerTime begun;
  std::optional<int64_t> after;  // the last place that is in Kafka
};

class CursorStrategy final : public PollingStrategy {
 public:
  explicit CursorStrategy(PollingContext context)
      : options_(context.options),
        connection_(context.connection),
        rows_(context.rows),
        max_rows_(options_.batch_size),
        refusal_backoff_({options_.retry_backoff, options_.retry_backoff_max},
                         std::random_device()()) {}

  asio::awaitable<absl::Status> Begin() override;
  asio::awaitable<absl::Status> Take() override;
  asio::awaitable<absl::Status> Settle() override;
  void OnNotified() override { next_at_ = Clock::now(); }
  void OnConnectionLost() override;

  MonotonicTime take_at() const override {
    return batch_ ? MonotonicTime::max() : next_at_;
  }
  MonotonicTime settle_at() const override {
    return IsReported() ? MonotonicTime() : MonotonicTime::max();
  }
  // The lock lasts as long as the connection.
  MonotonicTime hold_ends_at() const override {
    return connection_.is_open() ? MonotonicTime::max() : MonotonicTime();
  }
  std::string GaugesSql() const override { return sql_->Gauges(position_); }
  bool is_standby() const override { return is_standby_; }
  absl::Status trouble() const override { return trouble_; }

 private:
  // True if all rows of the batch have their result.
  bool IsReported() const { return batch_ && rows_.flight().in_flight() == 0; }
  asio::awaitable<absl::Status> LoadPosition();
  asio::awaitable<absl::Status> OpenWindow();
  asio::awaitable<absl::Status> OnNoMoreRows();
  void Send(const RowBatch& batch, bool is_last);
  // Takes the results: the number of rows before the first one that is not in
  // Kafka.
  size_t CountDelivered(const Batch& batch);
  void OnRefused(const RowsInFlight::RejectedRow& refusal);
  asio::awaitable<absl::Status> Save();
  // Adds the GRANT that a rejected statement on the cursor's table lacks.
  absl::Status WithGrant(const absl::Status& status) const;

  const PollingOptions& options_;
  TableConnection& connection_;
  RowSender& rows_;
  std::optional<CursorSql> sql_;
  CursorPosition position_;
  std::optional<Batch> batch_;
  std::optional<Restore> restore_;  // while restoring
  bool is_standby_ = false;
  absl::Status trouble_;
  size_t max_rows_;  // one, after a row was rejected
  MonotonicTime next_at_{};
  Backoff refusal_backoff_;
};

asio::awaitable<absl::Status> CursorStrategy::Begin() {
  sql_.emplace(
      rows_.table(), options_.cursor_table,
      [this](std::string_view text) { return connection_.Literal(text); });
  rows_.flight().TakeFinished();  // of the last session
  next_at_ = MonotonicTime();
  const std::string lock = sql_->TryLock();
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows locked,
                              co_await connection_.Query(lock));
  is_standby_ = !locked.Bool(0, 0);
  trouble_ = absl::OkStatus();
  if (is_standby_) {
    trouble_ = absl::UnavailableError(fmt::format(
        "another walpost has the cursor of {}", rows_.table().name()));
    co_return absl::OkStatus();
  }
  WALPOST_CO_RETURN_IF_ERROR(co_await LoadPosition());
  // Rows whose position cannot be saved would be published again and again.
  co_return co_await Save();
}

void CursorStrategy::OnConnectionLost() {
  batch_.reset();
  restore_.reset();
  is_standby_ = false;
  trouble_ = absl::OkStatus();
}

asio::awaitable<absl::Status> CursorStrategy::LoadPosition() {
  const std::string load = sql_->Load();
  absl::StatusOr<QueryRows> rows = co_await connection_.Query(load);
  if (SqlstateOf(rows.status()) == kSqlstateUndefinedTable) {
    const std::string create = sql_->CreateTable();
    const absl::Status created = co_await connection_.Execute(create);
    if (SqlstateOf(created) == kSqlstatePrivilege) {
      co_return absl::FailedPreconditionError(fmt::format(
          "{}; run as the owner of the schema (sql/cursor.sql): {}",
          std::string(created.message()),
          GrantCursorTableSql(options_.cursor_table, connection_.role())));
    }
    if (!created.ok()) co_return created;
    rows = co_await connection_.Query(load);
  }
  if (!rows.ok()) co_return WithGrant(rows.status());
  position_ = CursorPositionFrom(*rows);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> CursorStrategy::Take() {
  if (!restore_ && !position_.has_window()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await OpenWindow());
    if (!restore_ && !position_.has_window()) co_return absl::OkStatus();
  }
  const size_t limit = std::min(max_rows_, rows_.limit());
  const std::string fetch =
      restore_ ? sql_->FetchRestored(position_, restore_->begun,
                                     restore_->after, limit)
               : sql_->Fetch(position_, limit);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const RowBatch batch,
      co_await connection_.QueryBatch(fetch, rows_.id_column()));
  if (batch.empty()) co_return co_await OnNoMoreRows();
  const bool is_last = batch.left_out.empty() && batch.rows.size() < limit;
  Send(batch, is_last);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> CursorStrategy::OpenWindow() {
  const std::string now = sql_->Now();
  absl::StatusOr<QueryRows> rows = co_await connection_.Query(now);
  if (!rows.ok()) co_return rows.status();
  const ServerTime time = ServerTimeFrom(*rows);
  if (position_.IsForeign(time.system_identifier, time.xmin) ||
      position_.IsBelow(time.highest_foreign_place)) {
    LogWarn(
        {{"table", rows_.table().name()}},
        "table {} has rows of another cluster (its cursor is of '{}', this is "
        "{}): publishing what was not published there",
        rows_.table().name(), position_.system_identifier,
        time.system_identifier);
    restore_ = Restore{time, std::nullopt};
    co_return absl::OkStatus();
  }
  position_.system_identifier = time.system_identifier;
  position_.Open(time.xmin);
  next_at_ = Clock::now() + options_.interval;
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> CursorStrategy::OnNoMoreRows() {
  if (restore_) {
    const ServerTime& time = restore_->begun;
    if (restore_->after) position_.OnPublished(*restore_->after);
    position_.Adopt(time.system_identifier, time.xmin,
                    time.highest_foreign_place);
    restore_.reset();
    co_return co_await Save();
  }
  const bool moved = position_.last_place.has_value();
  position_.OnWindowDone();
  if (!moved) co_return absl::OkStatus();
  co_return co_await Save();
}

void CursorStrategy::Send(const RowBatch& batch, bool is_last) {
  const PolledTable& table = rows_.table();
  const size_t order = *table.schema.FindColumn(table.order);
  batch_.emplace();
  batch_->is_last = is_last;
  for (const QueryRows& row : batch.rows) {
    batch_->ids.push_back(row.Text(0, rows_.id_column()));
    batch_->places.push_back(row.Integer(0, order));
  }
  next_at_ = Clock::now();
  rows_.Send(batch, next_at_, RowSender::HoldUp::kAll);
}

asio::awaitable<absl::Status> CursorStrategy::Settle() {
  if (!IsReported()) co_return absl::OkStatus();
  const Batch batch = *std::exchange(batch_, std::nullopt);
  const size_t delivered = CountDelivered(batch);
  if (delivered == 0) co_return absl::OkStatus();
  const int64_t place = batch.places[delivered - 1];
  if (restore_) {
    restore_->after = place;
    co_return absl::OkStatus();
  }
  position_.OnPublished(place);
  if (batch.is_last && delivered == batch.ids.size()) position_.OnWindowDone();
  co_return co_await Save();
}

size_t CursorStrategy::CountDelivered(const Batch& batch) {
  const RowsInFlight::Finished finished = rows_.flight().TakeFinished();
  absl::flat_hash_set<std::string> acknowledged;
  std::vector<std::string> done = IdsOf(finished.acknowledged);
  AddIds(finished.set_aside, done);
  acknowledged.insert(done.begin(), done.end());
  size_t delivered = 0;
  while (delivered < batch.ids.size() &&
         acknowledged.contains(batch.ids[delivered])) {
    ++delivered;
  }
  trouble_ = absl::OkStatus();
  if (!finished.refused.empty()) {
    OnRefused(finished.refused.front());
  } else if (delivered > 0) {
    max_rows_ = options_.batch_size;
    refusal_backoff_.Reset();
  }
  return delivered;
}

void CursorStrategy::OnRefused(const RowsInFlight::RejectedRow& refusal) {
  trouble_ = absl::UnavailableError(fmt::format(
      "table {}: row {} cannot be delivered, and nothing behind it goes out: "
      "{}. Fix or delete the row, or fix the configuration",
      rows_.table().name(), refusal.row.id,
      std::string(refusal.reason.message())));
  // One by one up to the row, so that rows behind it are not sent each time.
  max_rows_ = 1;
  next_at_ = Clock::now() + refusal_backoff_.Next();
}

asio::awaitable<absl::Status> CursorStrategy::Save() {
  std::vector<std::string> statements = {sql_->Save(position_)};
  const absl::Status saved = co_await connection_.Store(std::move(statements));
  co_return WithGrant(saved);
}

absl::Status CursorStrategy::WithGrant(const absl::Status& status) const {
  if (SqlstateOf(status) != kSqlstatePrivilege) return status;
  return WithPrivilegeRemedy(status, options_.cursor_table, connection_.role(),
                             "SELECT, INSERT, UPDATE");
}

}  // namespace

std::unique_ptr<PollingStrategy> MakeCursorStrategy(PollingContext context) {
  return std::make_unique<CursorStrategy>(context);
}

}  // namespace walpost
