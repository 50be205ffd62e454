// Connection: one libpq connection, driven by the event loop.
//
// Nothing here blocks the loop. It uses the simple query protocol, because a
// replication connection has no other, except for statements with parameters.
//
// Owned by its creator; not shared. One operation at a time. Members that
// return an awaitable must outlive it; set_deadline and Wake end one early.
#pragma once

#include <libpq-fe.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loop/socket_waiter.h"
#include "postgres/connect/connect_attempts.h"
#include "postgres/connect/connect_steps.h"
#include "postgres/connect/query_rows.h"
#include "postgres/connect/server_options.h"

namespace walpost {

struct ConnectionOptions {
  ServerOptions server;
  // Shown in pg_stat_activity; the server cuts it at 63 bytes.
  std::string application_name = "walpost";
  // replication=database: for replication commands and SQL.
  bool replication = false;
  // Server settings of the session, as "name=value"; they override ours.
  std::vector<std::string> settings;
  // Time limit for all addresses of the server together, beside the limit of
  // each one (connect_attempts.h).
  std::optional<std::chrono::milliseconds> connect_timeout;
  // Time limit for the answer to one statement.
  std::chrono::milliseconds statement_limit{60'000};
};

class Connection {
 public:
  // Errors have a SQLSTATE if the server gave one (sqlstate.h). Reads conninfo
  // and password again each time. kInvalidArgument: the conninfo does not
  // parse. kUnavailable: a reference in it cannot be read, or with its value
  // the conninfo does not parse, or password_command failed (each may pass).
  static boost::asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>>
  Connect(boost::asio::any_io_executor executor, ConnectionOptions options);

  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs a command and returns its rows. Another Execute may follow an error of
  // the server, but not of the connection. kUnavailable: the connection is
  // lost, or did not answer within the limit for statements.
  boost::asio::awaitable<absl::StatusOr<QueryRows>> Execute(std::string sql);
  // `attempted` describes it in errors; else they show the start of the SQL.
  boost::asio::awaitable<absl::StatusOr<QueryRows>> Execute(
      std::string sql, std::string attempted);

  // Runs statements one after the other, each with its own outcome: an error of
  // the server does not keep those behind it from running. Outside a
  // replication connection the server answers all of them in one round trip.
  // The limit for statements applies to each.
  boost::asio::awaitable<absl::StatusOr<std::vector<absl::StatusOr<QueryRows>>>>
  ExecuteEach(std::vector<std::string> statements);

  // Runs a command whose rows are read one at a time, with NextRow up to its
  // end: for results of any size. Between two rows, the server waits.
  boost::asio::awaitable<absl::Status> StartRows(std::string sql);
  // One row; nullopt: the end. There are no more rows after an error. The limit
  // for statements applies to each row.
  boost::asio::awaitable<absl::StatusOr<std::optional<QueryRows>>> NextRow();

  // Runs a statement with parameters $1, $2, ... of type bytea; nullopt: NULL.
  // They outlive the call. Parameters and results are binary, for values that
  // are too large for several copies. Not on a replication connection.
  boost::asio::awaitable<absl::StatusOr<QueryRows>> ExecuteBinary(
      std::string sql, std::vector<std::optional<std::string_view>> parameters);

  // Runs a command that ends in COPY BOTH mode (START_REPLICATION).
  boost::asio::awaitable<absl::Status> StartCopyBoth(std::string command);

  // Replaces the limit for statements: gives up waiting when `deadline` has
  // passed (kDeadlineExceeded). After either one the connection is unusable.
  void set_deadline(std::optional<MonotonicTime> deadline) {
    deadline_ = deadline;
  }
  // Ends the pending operation; the connection is then unusable.
  void Interrupt() {
    set_deadline(std::chrono::steady_clock::now());
    waiter_.Wake();
  }

  int server_version() const { return PQserverVersion(connection_.get()); }
  // Encoding of the database: "UTF8", "SQL_ASCII", ...
  std::string server_encoding() const;
  PGconn* raw() { return connection_.get(); }
  SocketWaiter& waiter() { return waiter_; }

  // Warnings received since the last call, without notices.
  struct Warning {
    std::string sqlstate;
    std::string text;
  };
  std::vector<Warning> TakeWarnings() { return std::exchange(warnings_, {}); }

  // Returns a text as an SQL literal, including quotes.
  std::string Literal(std::string_view text);

 private:
  Connection(boost::asio::any_io_executor executor, SharedConnection connection,
             std::chrono::milliseconds statement_limit, bool is_replication);

  static boost::asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>>
  TryAddress(boost::asio::any_io_executor executor,
             const ConnectionOptions& options, ConnectParameters parameters,
             ConnectAttempts::Attempt attempt);
  boost::asio::awaitable<absl::Status> FinishConnecting(
      boost::asio::any_io_executor executor, ConnectAttempts::Attempt attempt);
  absl::Status Queue(const std::string& sql, const std::string& attempted);
  boost::asio::awaitable<absl::Status> Send(std::string sql,
                                            std::string attempted);
  boost::asio::awaitable<absl::Status> Flush(std::string attempted);
  boost::asio::awaitable<absl::StatusOr<QueryRows>> TakeRows(
      std::string attempted);
  boost::asio::awaitable<absl::Status> SendPipelined(
      std::span<const std::string> statements);
  boost::asio::awaitable<absl::Status> ReadToSync(std::string attempted);
  boost::asio::awaitable<absl::StatusOr<PGresult*>> NextResult(
      std::string attempted);
  absl::Status CheckInTime(const std::string& attempted) const;
  static void OnNotice(void* self, const PGresult* notice);

  SharedConnection connection_;
  SocketWaiter waiter_;
  std::optional<MonotonicTime> deadline_;
  const std::chrono::milliseconds statement_limit_;
  const bool is_replication_;
  MonotonicTime statement_begin_;
  std::string rows_attempted_;  // of StartRows, for errors
  std::vector<Warning> warnings_;
};

}  // namespace walpost
