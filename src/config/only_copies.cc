#include "config/only_copies.h"

#include <string_view>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {

absl::Status CheckOnlyCopies(const Config& config) {
  if (const auto action = config.on_error.FirstThatLeavesOut()) {
    return absl::InvalidArgumentError(fmt::format(
        "on_error: {} leaves events in the table alone, and their rows would "
        "be deleted: use dead_letter, or delete no rows",
        ToString(*action)));
  }
  if (config.outbox.dead_letter.payload != DeadLetterOptions::Payload::kWhole) {
    return absl::InvalidArgumentError(
        "dead_letter.payload leaves whole payloads in the table alone, and "
        "their rows would be deleted: set it to whole, or delete no rows");
  }
  for (const TableOptions& table : EntriesOf(config.outbox)) {
    if (table.claim_check_above == 0) continue;
    return absl::InvalidArgumentError(fmt::format(
        "claim_check_above leaves large payloads in {} alone, and their rows "
        "would be deleted: remove it, or delete no rows",
        table.name));
  }
  // parking.table has only what could be read of the row.
  for (const std::string_view code : kUnreadableReasons) {
    const ErrorAction action = config.on_error.Get(FindErrorClass(code));
    const bool is_kept =
        action == ErrorAction::kPark ||
        (action == ErrorAction::kDeadLetter && config.keeps_letters());
    if (!is_kept) continue;
    return absl::InvalidArgumentError(fmt::format(
        "on_error.{}: {} keeps what could be read of a row, and the row would "
        "be deleted: use stop, or delete no rows",
        code, ToString(action)));
  }
  return absl::OkStatus();
}

}  // namespace walpost
