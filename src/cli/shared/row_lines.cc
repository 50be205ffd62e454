#include "cli/shared/row_lines.h"

#include "app/sink/kafka_deletions.h"
#include "cli/shared/complete_conninfo.h"
#include "cli/shared/output.h"
#include "fmt/format.h"

namespace walpost {

void PrintRow(const Event& row, std::string_view what) {
  PrintContent(fmt::format("{}  {}\n", row.id.value_or("(no id)"), what));
}

std::string SetAsideText(const TablePublisher::Counts& counts) {
  return counts.set_aside == 0
             ? ""
             : fmt::format(", {} not deliverable (on_error)", counts.set_aside);
}

std::string OtherOriginText(uint64_t count) {
  if (count == 0) return "";
  return fmt::format(
      "left out: {} that were replicated to this server (postgres.origin: "
      "none)\n",
      count);
}

std::string LeftOutText(const TablePublisher::Counts& counts) {
  return LeftOutText(counts.left_out) + OtherOriginText(counts.other_origin);
}

std::string LeftOutText(const DispositionCounts& left_out) {
  std::string text;
  const auto add = [&](Disposition fate, std::string_view what) {
    if (left_out.of(fate) == 0) return;
    text += fmt::format("left out: {} {}\n", left_out.of(fate), what);
  };
  add(Disposition::kSkipped, "that an operator has skipped");
  add(Disposition::kDiscarded, "that an operator has discarded");
  add(Disposition::kDeadLetter,
      "that have a dead letter: walpost dead-letters -c FILE list");
  add(Disposition::kParked,
      "that are parked: walpost parked -c FILE list; missing events of their "
      "keys go before them");
  return text;
}

void PrintKafkaDeletions(const Config& config,
                         const std::vector<std::string>& tables) {
  for (const Finding& finding :
       FindKafkaDeletions(config, CompleteConninfo(config.postgres.server),
                          tables, Severity::kWarning)) {
    Print(stderr, "{}: {} {}\n",
          finding.severity == Severity::kNote ? "note" : "warning",
          finding.subject, finding.text);
    if (finding.remedy.empty()) continue;
    Print(stderr, "        -> {}\n", finding.remedy);
  }
}

}  // namespace walpost
