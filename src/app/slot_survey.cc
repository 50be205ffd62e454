#include "app/slot_survey.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/record_builder.h"
#include "postgres/connection.h"
#include "postgres/slot_peek.h"
#include "postgres/table_scan.h"
#include "postgres/task_session.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kFlushPoll{50};

// With synchronous_commit = off, rows are visible before their WAL is flushed,
// and what is not flushed is not decoded. The WAL writer does it within
// seconds.
asio::awaitable<absl::Status> AwaitFlush(Connection& connection, Lsn end) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const std::string sql = fmt::format(
      "SELECT pg_catalog.pg_current_wal_flush_lsn() >= '{}'", end.ToString());
  for (;;) {
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                                co_await connection.Execute(sql));
    if (rows.Bool(0, 0)) co_return absl::OkStatus();
    timer.expires_after(kFlushPoll);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace

asio::awaitable<absl::StatusOr<EventSet>> SurveySlot(
    asio::any_io_executor executor, const Config& config,
    const std::vector<Route>& routes, Lsn end) {
  ConnectionOptions options = TaskSession(config.postgres, "snapshot");
  options.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_RETURN_IF_ERROR(co_await AwaitFlush(*connection, end));
  const std::vector<std::vector<std::string>> references = ReferencesOf(routes);
  EventSet events;
  uint64_t unknown = 0;
  const auto show = [&](const Event& event) {
    if (!events.Add(event)) ++unknown;
  };
  const absl::Status peeked = co_await PeekSlot(
      *connection, config.postgres, config.outbox, references, end, show);
  if (!peeked.ok()) co_return peeked;
  if (unknown > 0) {
    spdlog::warn(
        "initial snapshot: {} rows are in the stream, too, and come twice: "
        "they "
        "have no id, or there are too many of them",
        unknown);
  }
  co_return events;
}

}  // namespace walpost
