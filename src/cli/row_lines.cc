#include "cli/row_lines.h"

#include "cli/output.h"
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

std::string LeftOutText(const FateCounts& left_out) {
  std::string text;
  const auto add = [&](Fate fate, std::string_view what) {
    if (left_out.of(fate) == 0) return;
    text += fmt::format("left out: {} {}\n", left_out.of(fate), what);
  };
  add(Fate::kSkipped, "that an operator has skipped");
  add(Fate::kDiscarded, "that an operator has discarded");
  add(Fate::kDeadLetter,
      "that have a dead letter: walpost dead-letters -c FILE list");
  add(Fate::kParked,
      "that are parked: walpost parked -c FILE list; missing events of their "
      "keys go before them");
  return text;
}

}  // namespace walpost
