#include "cli/shared/expand_tables.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>

#include "app/live/table_expansion.h"
#include "base/status_macros.h"
#include "cli/shared/verbs.h"
#include "loop/run_to_end.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/connect/task_session.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kAnswerLimit{10};

asio::awaitable<absl::Status> Expand(asio::any_io_executor executor,
                                     Config& config) {
  const ConnectionOptions options = TaskSession(config.postgres, "tables");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  connection->set_deadline(std::chrono::steady_clock::now() + kAnswerLimit);
  co_return co_await ExpandPatterns(*connection, config.outbox);
}

asio::awaitable<absl::Status> ExpandAsRun(asio::any_io_executor executor,
                                          Config& config) {
  const TableExpansion before{config.outbox};
  WALPOST_CO_ASSIGN_OR_RETURN(config.outbox,
                              co_await ExpandTables(executor, config, before));
  co_return absl::OkStatus();
}

}  // namespace

absl::Status ExpandTables(Config& config, WithRecorded recorded) {
  if (config.outbox.patterns.empty()) return absl::OkStatus();
  WALPOST_RETURN_IF_ERROR(RequirePostgres(config));
  asio::io_context io(1);
  const asio::any_io_executor executor = io.get_executor();
  if (config.source == Source::kWal && recorded == WithRecorded::kYes) {
    return RunToEnd(io, ExpandAsRun(executor, config));
  }
  return RunToEnd(io, Expand(executor, config));
}

}  // namespace walpost
