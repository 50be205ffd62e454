#include "polling/table_connection.h"

#include <algorithm>
#include <random>

#include "base/status_macros.h"
#include "postgres/connect/sqlstate.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// For all addresses of the server together.
constexpr milliseconds kConnectTimeout{60'000};
// A longer statement means that the server is lost.
constexpr std::chrono::seconds kStatementTimeout{60};

}  // namespace

TableConnection::TableConnection(asio::any_io_executor executor,
                                 ConnectionOptions options,
                                 std::function<MonotonicTime()> limit)
    : executor_(executor),
      options_(std::move(options)),
      limit_(std::move(limit)),
      backoff_(Backoff::Options{}, std::random_device()()) {}

MonotonicTime TableConnection::Within(milliseconds limit) const {
  return std::min(limit_(), Clock::now() + limit);
}

asio::awaitable<absl::Status> TableConnection::Open() {
  const auto left = std::chrono::duration_cast<milliseconds>(
      Within(kConnectTimeout) - Clock::now());
  options_.connect_timeout = std::max(left, milliseconds(100));
  WALPOST_CO_ASSIGN_OR_RETURN(
      connection_, co_await Connection::Connect(executor_, options_));
  connection_->set_deadline(Within(kStatementTimeout));
  server_version_ = connection_->server_version();
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<QueryRows>> TableConnection::Query(
    std::string sql) {
  OnAsked();
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  OnAnswered(rows.ok());
  co_return rows;
}

asio::awaitable<absl::StatusOr<RowBatch>> TableConnection::QueryBatch(
    std::string sql, size_t id) {
  OnAsked();
  absl::StatusOr<RowBatch> batch = co_await ReadRowBatch(*connection_, sql, id);
  OnAnswered(batch.ok());
  co_return batch;
}

void TableConnection::OnAsked() {
  connection_->set_deadline(Within(kStatementTimeout));
  asked_at_ = Clock::now();
}

void TableConnection::OnAnswered(bool ok) {
  asked_at_.reset();
  TakeNotifications();
  if (ok && can_store_) backoff_.Reset();
}

asio::awaitable<absl::Status> TableConnection::Execute(std::string sql) {
  absl::StatusOr<QueryRows> rows = co_await Query(sql);
  co_return rows.status();
}

asio::awaitable<absl::Status> TableConnection::Store(
    std::vector<std::string> statements) {
  for (std::string& statement : statements) {
    if (statement.empty()) continue;
    const absl::Status status = co_await Execute(std::move(statement));
    if (status.ok()) continue;
    // A lost connection says nothing about the statement.
    if (PQstatus(connection_->raw()) == CONNECTION_OK) can_store_ = false;
    co_return status;
  }
  can_store_ = true;
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> TableConnection::Pause(MonotonicTime until) {
  if (notified_) co_return absl::OkStatus();
  co_await connection_->waiter().Wait(SocketWaiter::Interest::kRead, until);
  if (PQconsumeInput(connection_->raw()) == 0) {
    co_return StatusFromConnection(connection_->raw(), "polling");
  }
  TakeNotifications();
  co_return absl::OkStatus();
}

void TableConnection::TakeNotifications() {
  while (PGnotify* notification = PQnotifies(connection_->raw())) {
    notified_ = true;
    PQfreemem(notification);
  }
}

void TableConnection::Wake() {
  if (is_open()) connection_->waiter().Wake();
}

milliseconds TableConnection::answer_awaited_for(MonotonicTime now) const {
  if (!asked_at_) return {};
  return std::chrono::duration_cast<milliseconds>(now - *asked_at_);
}

}  // namespace walpost
