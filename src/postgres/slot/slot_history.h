// HistoryOf: the history of a slot, as the server shows it.
#pragma once

#include <optional>
#include <string_view>

#include "checkpoint/slot_history.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/slot.h"

namespace walpost {

enum class HasCheckpoint { kNo, kYes };

// Judges by the server's state now. A record of another system counts as kUsed:
// checkpoint/continuity.h decides whether that is a gap.
SlotHistory HistoryOf(const std::optional<SlotState>& slot,
                      const std::optional<BirthRecord>& birth,
                      std::string_view system_identifier,
                      HasCheckpoint has_checkpoint);

}  // namespace walpost
