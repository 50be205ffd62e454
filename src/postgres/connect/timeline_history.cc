#include "postgres/connect/timeline_history.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

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
