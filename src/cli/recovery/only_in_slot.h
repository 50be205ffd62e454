// OnlyInSlot: events that a slot would still send and no table has, so that a
// new slot would lose them: their table was renamed, or left outbox.tables, or
// their rows were deleted.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "app/backfill/slot_recovery.h"
#include "cli/shared/slot_inspection.h"
#include "config/config.h"
#include "outbox/events_on_record.h"

namespace walpost {

struct OnlyInSlot {
  uint64_t events = 0;
  std::string named;  // PendingEvents::ToText
};

// Decodes the WAL of the slot, and reads the rows that `filter` selects, with
// the connection of `founder`. Events of `on_record` do not count, nor what the
// checkpoint has; an event without an id counts, as no row can be told to be
// it. None without a slot, or if it is lost.
//
// Errors are those of PeekSlot and of reading a table. All references outlive
// the coroutine.
boost::asio::awaitable<absl::StatusOr<OnlyInSlot>> FindOnlyInSlot(
    boost::asio::any_io_executor executor, const Config& config,
    const SlotInspection& inspection, const EventsOnRecord& on_record,
    const TableFilter& filter, SlotRecovery& founder);

// Says why the slot is kept, in a line; empty: there are none.
std::string OnlyInSlotText(const OnlyInSlot& only, const std::string& slot);

}  // namespace walpost
