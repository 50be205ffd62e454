// TableConnection: a poller's connection to Postgres, across reconnects.
//
// No statement outlasts the time until which rows are held: it fails instead,
// with the connection, so that the poller can call the rows back.
//
// Owned by a TablePoller. One operation at a time.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "postgres/connect/connection.h"
#include "postgres/tables/row_batch.h"

namespace walpost {

class TableConnection {
 public:
  // `limit` returns the time until which rows are held.
  TableConnection(boost::asio::any_io_executor executor,
                  ConnectionOptions options,
                  std::function<MonotonicTime()> limit);

  boost::asio::awaitable<absl::Status> Open();
  void Close() { connection_.reset(); }
  // Time to wait before the next Open: longer each time, until a statement
  // succeeds while results can be stored.
  std::chrono::milliseconds NextWait() { return backoff_.Next(); }

  // ---- While it is open.
  boost::asio::awaitable<absl::StatusOr<QueryRows>> Query(std::string sql);
  // The columns of a table; see row_batch.h.
  boost::asio::awaitable<absl::StatusOr<RowBatch>> QueryBatch(std::string sql,
                                                              size_t id);
  boost::asio::awaitable<absl::Status> Execute(std::string sql);
  // Executes statements that store the results of rows, in order, up to the
  // first error. Empty ones are skipped.
  boost::asio::awaitable<absl::Status> Store(
      std::vector<std::string> statements);
  // Returns at `until`, or earlier after Wake or a notification.
  boost::asio::awaitable<absl::Status> Pause(MonotonicTime until);
  // True if there was a notification since the last call.
  bool TakeNotified() { return std::exchange(notified_, false); }
  std::string Literal(std::string_view text) {
    return connection_->Literal(text);
  }
  std::string role() { return PQuser(connection_->raw()); }
  Connection& raw() { return *connection_; }

  // ---- Always.
  bool is_open() const { return connection_ != nullptr; }
  void Wake();
  // False after the server has rejected a Store, until one succeeds.
  bool can_store() const { return can_store_; }
  // How long the current statement has been running; 0: none runs.
  std::chrono::milliseconds answer_awaited_for(MonotonicTime now) const;
  // As of the last connection; 0: there was none.
  int server_version() const { return server_version_; }

 private:
  MonotonicTime Within(std::chrono::milliseconds limit) const;
  void OnAsked();
  void OnAnswered(bool ok);
  void TakeNotifications();

  boost::asio::any_io_executor executor_;
  ConnectionOptions options_;
  std::function<MonotonicTime()> limit_;
  std::unique_ptr<Connection> connection_;
  Backoff backoff_;
  std::optional<MonotonicTime> asked_at_;
  bool notified_ = false;
  bool can_store_ = true;
  int server_version_ = 0;
};

}  // namespace walpost
