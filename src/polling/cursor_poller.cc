#include "polling/cursor_poller.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/read_refusal.h"
#include "fmt/format.h"
#include "polling/cursor_rows.h"
#include "postgres/sqlstate.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Interval at which a standby tries to get the cursor.
constexpr milliseconds kStandbyInterval{500};

}  // namespace

CursorPoller::CursorPoller(asio::any_io_executor executor, Options options,
                           Outbound& outbound)
    : TablePoller(executor, std::move(options), outbound),
      most_rows_(options_.polling.batch_size),
      refusal_backoff_(RetryBackoff(), std::random_device()()) {}

// The lock lasts as long as the connection.
MonotonicTime CursorPoller::purge_at() const {
  return flight_.in_flight() == 0 || is_serving_ ? MonotonicTime::max()
                                                 : MonotonicTime();
}

std::string CursorPoller::GaugesSql() { return sql_->Gauges(position_); }

asio::awaitable<absl::Status> CursorPoller::BeginSession() {
  flight_.TakeFinished();
  restore_.reset();
  next_at_ = MonotonicTime();
  sql_ = std::make_unique<CursorSql>(
      *table_, options_.polling.cursor_table,
      [this](std::string_view text) { return Literal(text); });
  absl::Status status = co_await TakeLock();
  if (status.ok() && !stopping()) status = co_await LoadPosition();
  // Rows whose position cannot be saved would be published again and again.
  if (status.ok() && !stopping()) status = co_await Save();
  co_return status;
}

asio::awaitable<absl::Status> CursorPoller::TakeLock() {
  const std::string lock = sql_->TryLock();
  while (!stopping()) {
    absl::StatusOr<QueryRows> locked = co_await Query(lock);
    if (!locked.ok()) co_return locked.status();
    standby_ = !locked->Bool(0, 0);
    if (!standby_) break;
    trouble_ = absl::UnavailableError(
        fmt::format("another walpost has the cursor of {}", table_->name()));
    const MonotonicTime again = Clock::now() + kStandbyInterval;
    const absl::Status status = co_await Pause(again);
    if (!status.ok()) co_return status;
    TakeNotified();
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> CursorPoller::LoadPosition() {
  const std::string load = sql_->Load();
  absl::StatusOr<QueryRows> rows = co_await Query(load);
  if (SqlstateOf(rows.status()) == kSqlstateUndefinedTable) {
    const std::string create = sql_->CreateTable();
    const absl::Status created = co_await Execute(create);
    if (SqlstateOf(created) == kSqlstatePrivilege) {
      co_return absl::FailedPreconditionError(fmt::format(
          "{}; run sql/cursor.sql as the owner of the schema of {}",
          std::string(created.message()), options_.polling.cursor_table));
    }
    if (!created.ok()) co_return created;
    rows = co_await Query(load);
  }
  if (!rows.ok()) co_return WithGrant(rows.status());
  position_ = CursorPositionFrom(*rows);
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<ServerTime>> CursorPoller::ReadTime() {
  const std::string sql = sql_->Now();
  absl::StatusOr<QueryRows> rows = co_await Query(sql);
  if (!rows.ok()) co_return rows.status();
  co_return ServerTimeFrom(*rows);
}

asio::awaitable<absl::Status> CursorPoller::Serve() {
  is_serving_ = true;
  absl::Status status;
  while (status.ok() && !stopping()) {
    status = co_await Turn();
  }
  is_serving_ = false;
  co_return status;
}

asio::awaitable<absl::Status> CursorPoller::Turn() {
  absl::Status status = co_await ReportIfDue();
  if (!status.ok()) co_return status;
  const MonotonicTime now = Clock::now();
  const bool ready = outbound_.WantsRows(now);
  if (ready && now >= next_at_) co_return co_await FetchOnce();
  const MonotonicTime next = ready ? next_at_ : now + kNotReadyPause;
  const MonotonicTime until = std::min(next, report_at());
  status = co_await Pause(until);
  if (TakeNotified()) next_at_ = Clock::now();
  co_return status;
}

asio::awaitable<absl::Status> CursorPoller::FetchOnce() {
  if (restore_) co_return co_await PublishRestored();
  if (!position_.has_window()) {
    absl::StatusOr<ServerTime> time = co_await ReadTime();
    if (!time.ok()) co_return time.status();
    if (position_.IsForeign(time->system_identifier, time->xmin) ||
        position_.IsBelow(time->highest_foreign_place)) {
      spdlog::warn(
          "table {} has rows of another cluster (its cursor is of '{}', this "
          "is {}): publishing what was not published there",
          table_->name(), position_.system_identifier, time->system_identifier);
      restore_ = Restore{*time, std::nullopt};
      co_return co_await PublishRestored();
    }
    position_.system_identifier = time->system_identifier;
    position_.Open(time->xmin);
    next_at_ = Clock::now() + options_.polling.interval;
    if (!position_.has_window()) co_return absl::OkStatus();
  }
  const size_t limit = std::min(most_rows_, outbound_.MostRows(portion_));
  const std::string fetch = sql_->Fetch(position_, limit);
  absl::StatusOr<QueryRows> rows = co_await Query(fetch);
  if (!rows.ok()) co_return rows.status();
  if (rows->size() == 0) {
    const bool moved = position_.last_place.has_value();
    position_.OnWindowDone();
    if (!moved) co_return absl::OkStatus();
    co_return co_await Save();
  }
  next_at_ = Clock::now();
  const bool is_last = rows->size() < limit;
  absl::StatusOr<Progress> progress = co_await Publish(*std::move(rows));
  if (!progress.ok()) co_return progress.status();
  if (!progress->place) co_return absl::OkStatus();
  position_.OnPublished(*progress->place);
  if (is_last && progress->done) position_.OnWindowDone();
  co_return co_await Save();
}

asio::awaitable<absl::StatusOr<CursorPoller::Progress>> CursorPoller::Publish(
    QueryRows rows) {
  const MonotonicTime now = Clock::now();
  portion_.OnRead(rows.size(), BytesOf(rows, table_->schema.columns.size()));
  const size_t id = *table_->schema.FindColumn(table_->id);
  const size_t order = *table_->schema.FindColumn(table_->order);
  std::vector<std::string> ids;
  std::vector<int64_t> places;
  for (size_t i = 0; i < rows.size(); ++i) {
    ids.push_back(rows.Text(i, id));
    places.push_back(rows.Integer(i, order));
  }
  SendRows(rows, now, HoldUp::kAll);
  while (flight_.in_flight() > 0) {
    const MonotonicTime until = Clock::now() + std::chrono::seconds(1);
    const absl::Status status = co_await Pause(until);
    TakeNotified();
    if (!status.ok()) co_return status;
  }
  co_return ProgressOf(ids, places);
}

CursorPoller::Progress CursorPoller::ProgressOf(
    const std::vector<std::string>& ids, const std::vector<int64_t>& places) {
  const RowFlight::Finished finished = flight_.TakeFinished();
  absl::flat_hash_set<std::string> acknowledged;
  for (const RowFlight::Row& row : finished.acknowledged) {
    acknowledged.insert(row.id);
  }
  Progress progress;
  size_t i = 0;
  for (; i < ids.size() && acknowledged.contains(ids[i]); ++i) {
    progress.place = places[i];
  }
  progress.done = i == ids.size();
  if (finished.refused.empty()) {
    trouble_ = absl::OkStatus();
    if (progress.place) {
      most_rows_ = options_.polling.batch_size;
      refusal_backoff_.Reset();
    }
    return progress;
  }
  const RowFlight::Refusal& refusal = finished.refused.front();
  trouble_ = absl::UnavailableError(fmt::format(
      "table {}: row {} cannot be delivered, and nothing behind it goes out: "
      "{}. Fix or delete the row, or fix the configuration",
      table_->name(), refusal.row.id, std::string(refusal.reason.message())));
  // One by one up to the row, so that rows behind it are not sent each time.
  most_rows_ = 1;
  next_at_ = Clock::now() + refusal_backoff_.Next();
  return progress;
}

asio::awaitable<absl::Status> CursorPoller::PublishRestored() {
  const ServerTime& now = restore_->begun;
  std::optional<int64_t>& after = restore_->after;
  for (;;) {
    const size_t limit = std::min(most_rows_, outbound_.MostRows(portion_));
    const std::string fetch = sql_->FetchRestored(position_, now, after, limit);
    absl::StatusOr<QueryRows> rows = co_await Query(fetch);
    if (!rows.ok()) co_return rows.status();
    if (rows->size() == 0) break;
    absl::StatusOr<Progress> progress = co_await Publish(*std::move(rows));
    if (!progress.ok()) co_return progress.status();
    if (progress->place) after = progress->place;
    // The next turn comes back here.
    const bool stuck = !trouble_.ok() || !progress->place;
    if (!progress->done && stuck) co_return absl::OkStatus();
    if (stopping()) co_return absl::OkStatus();
  }
  if (after) position_.OnPublished(*after);
  position_.Adopt(now.system_identifier, now.xmin, now.highest_foreign_place);
  restore_.reset();
  co_return co_await Save();
}

asio::awaitable<absl::Status> CursorPoller::Save() {
  const std::string save = sql_->Save(position_);
  const absl::Status answer = co_await Execute(save);
  const absl::Status saved = WithGrant(answer);
  NoteSettled(saved);
  co_return saved;
}

absl::Status CursorPoller::WithGrant(const absl::Status& status) const {
  if (SqlstateOf(status) != kSqlstatePrivilege) return status;
  return WithPrivilegeRemedy(status, options_.polling.cursor_table, role(),
                             "SELECT, INSERT, UPDATE");
}

}  // namespace walpost
