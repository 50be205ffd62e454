#include "postgres/slot/new_tables.h"

#include <algorithm>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "postgres/catalog/existing_rows.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kCountLimit{60};

}  // namespace

asio::awaitable<absl::Status> NewTables::Look(Connection& connection) {
  names_.clear();
  const std::vector<ContinuityState::NewTable> tables = continuity_.NewTables();
  if (tables.empty() || !continuity_.observed().slot)
    co_return absl::OkStatus();
  const Lsn stands = continuity_.observed().slot->confirmed;
  if (std::exchange(counted_at_, stands) != stands) unsent_.clear();
  for (const ContinuityState::NewTable& table : tables) {
    if (!unsent_.contains(table.name)) {
      connection.set_deadline(Clock::now() + kCountLimit);
      WALPOST_CO_RETURN_IF_ERROR(co_await Count(connection, table));
    }
    const UnsentRows& unsent = unsent_[table.name];
    names_.push_back(table.name);
    const std::string rows =
        unsent.rows.count
            ? fmt::format("the table has {} that the slot does not send",
                          unsent.rows.ToString())
            : fmt::format("the rows of the table cannot be counted ({})",
                          unsent.rows.trouble);
    continuity_.SetUnsentRows(table.name, rows,
                              table.is_unknown && unsent.was_published);
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> NewTables::Count(
    Connection& connection, ContinuityState::NewTable table) {
  UnsentRows counted;
  if (table.announced_from > 0) {
    std::vector<std::string> names(1, table.name);
    WALPOST_CO_ASSIGN_OR_RETURN(
        std::vector<ExistingRows> rows,
        co_await CountExistingRows(connection, std::move(names),
                                   table.announced_from));
    counted.rows = std::move(rows.front());
  } else {
    const std::vector<std::vector<std::string>> references =
        ReferencesOf(routes_);
    const size_t index = IndexOf(outbox_, table.name);
    WALPOST_CO_ASSIGN_OR_RETURN(
        counted,
        co_await CountUnsentRows(connection, options_, outbox_, references,
                                 index, continuity_.resumes_at()));
  }
  unsent_[table.name] = std::move(counted);
  co_return absl::OkStatus();
}

// As the first start does for the tables of then. What an initial snapshot did
// not publish is not published.
void NewTables::Report() {
  WalSourceOptions options = options_;
  options.initial_snapshot = false;
  for (const std::string& name : names_) {
    if (std::ranges::count(published_, name) > 0) continue;
    LogFinding(DescribeUnsentRows(unsent_[name].rows, options));
  }
}

}  // namespace walpost
