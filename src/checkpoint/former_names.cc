#include "checkpoint/former_names.h"

#include "absl/strings/str_join.h"
#include "fmt/format.h"

namespace walpost {
namespace {

bool IsSettled(const TableOptions& table, const std::string& former) {
  if (former.empty() || !table.formerly) return former.empty();
  return table.formerly->empty() || table.HadName(former);
}

}  // namespace

absl::Status RequireFormerNames(std::span<const TableOptions> tables,
                                const std::vector<std::string>& former_names) {
  for (size_t i = 0; i < tables.size() && i < former_names.size(); ++i) {
    const TableOptions& table = tables[i];
    const std::string& former = former_names[i];
    if (IsSettled(table, former)) continue;
    std::vector<std::string> names =
        table.formerly.value_or(std::vector<std::string>());
    names.push_back(former);
    return absl::FailedPreconditionError(fmt::format(
        "table {} had the name {} when walpost last streamed: add formerly: "
        "[{}] to it in outbox.tables, so that what is on record about its "
        "events (skipped, parked, dead letters) is known again; or formerly: "
        "[], if its events are to count as those of another table",
        table.name, former, absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace walpost
