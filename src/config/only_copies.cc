#include "config/only_copies.h"

namespace walpost {

absl::Status CheckOnlyCopies(const Config& config) {
  if (config.on_error.Uses(ErrorAction::kSkip)) {
    return absl::InvalidArgumentError(
        "on_error: skip leaves events in the table alone, and their rows would "
        "be deleted: use dead_letter, or delete no rows");
  }
  if (config.outbox.dead_letter.payload != DeadLetterOptions::Payload::kWhole) {
    return absl::InvalidArgumentError(
        "dead_letter.payload leaves whole payloads in the table alone, and "
        "their rows would be deleted: set it to whole, or delete no rows");
  }
  return absl::OkStatus();
}

}  // namespace walpost
