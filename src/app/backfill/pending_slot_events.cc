#include "app/backfill/pending_slot_events.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <string>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "outbox/record_builder.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/slot_peek.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kFlushPoll{50};

}  // namespace

asio::awaitable<absl::StatusOr<EventSet>> PendingSlotEvents::Run(
    const std::vector<Route>& routes, Lsn end) {
  WALPOST_CO_RETURN_IF_ERROR(co_await Connect());
  WALPOST_CO_RETURN_IF_ERROR(co_await AwaitFlush(EndOfWal(end)));
  const std::vector<std::vector<std::string>> references = ReferencesOf(routes);
  EventSet events;
  uint64_t unknown = 0;
  const auto show = [&](const Event& event) {
    if (!events.Add(event)) ++unknown;
  };
  // Those of other origins, too: the stream decides about them.
  OutboxOptions outbox = config_.outbox;
  outbox.origin = OriginFilter::kAny;
  const absl::Status peeked = co_await PeekSlot(*connection_, config_.postgres,
                                                outbox, references, end, show);
  connection_.reset();
  if (!peeked.ok()) co_return peeked;
  if (unknown > 0) {
    LogWarn(
        "{} rows of the table are also in the stream, and come twice: they "
        "have no id, or there are too many of them",
        unknown);
  }
  co_return events;
}

asio::awaitable<absl::Status> PendingSlotEvents::Connect() {
  ConnectionOptions options = TaskSession(config_.postgres, "snapshot");
  options.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  if (is_interrupted_) co_return absl::CancelledError("told to end");
  co_return absl::OkStatus();
}

// With synchronous_commit = off, rows are visible before their WAL is flushed,
// and only flushed WAL is decoded. The WAL writer flushes it within seconds.
asio::awaitable<absl::Status> PendingSlotEvents::AwaitFlush(Lsn end) {
  asio::steady_timer timer(executor_);
  const std::string sql = fmt::format(
      "SELECT pg_catalog.pg_current_wal_flush_lsn() >= '{}'", end.ToString());
  for (;;) {
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                                co_await connection_->Execute(sql));
    if (rows.Bool(0, 0)) co_return absl::OkStatus();
    timer.expires_after(kFlushPoll);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

void PendingSlotEvents::Interrupt() {
  is_interrupted_ = true;
  if (connection_ != nullptr) connection_->Interrupt();
}

}  // namespace walpost
