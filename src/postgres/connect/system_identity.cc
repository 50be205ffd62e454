#include "postgres/connect/system_identity.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

boost::asio::awaitable<absl::StatusOr<SystemIdentity>> IdentifySystem(
    Connection& connection) {
  const std::string command = "IDENTIFY_SYSTEM";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(command));
  SystemIdentity identity;
  identity.system_identifier = rows.Text(0, 0);
  identity.timeline = static_cast<uint32_t>(rows.Unsigned(0, 1));
  identity.wal_end = Lsn::Parse(rows.Text(0, 2)).value_or(Lsn());
  co_return identity;
}

asio::awaitable<std::optional<Lsn>> FindFork(Connection& connection,
                                             uint32_t now, uint32_t left) {
  const std::string command = fmt::format("TIMELINE_HISTORY {}", now);
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(command);
  if (!rows.ok() || rows->size() == 0) co_return std::nullopt;
  co_return FindForkIn(rows->Text(0, 1), left);
}

std::optional<Lsn> FindForkIn(std::string_view history, uint32_t left) {
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(history), '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, '\t');
    if (words.size() < 2 || words[0] != std::to_string(left)) continue;
    const auto lsn = Lsn::Parse(words[1]);
    if (lsn.ok()) return *lsn;
  }
  return std::nullopt;
}

}  // namespace walpost
