#include "app/slot_survey.h"

#include <memory>
#include <string>

#include "base/status_macros.h"
#include "outbox/record_builder.h"
#include "postgres/connection.h"
#include "postgres/slot_peek.h"
#include "postgres/table_scan.h"
#include "postgres/task_session.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<EventSet>> SurveySlot(
    asio::any_io_executor executor, const Config& config,
    const std::vector<Route>& routes, Lsn end) {
  ConnectionOptions options = TaskSession(config.postgres, "snapshot");
  options.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
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
