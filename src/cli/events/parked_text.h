// Parked events as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dead_letters/dead_letter.h"
#include "postgres/parking/parked_list.h"

namespace walpost {

// 0/154F6A8/3, as people read and type it.
std::string PositionOf(const ParkedEntry& entry);

// A line about an event that was discarded while it was being sent.
inline constexpr char kMayBeSent[] =
    "    it was being sent then, and the brokers may have it: walpost verify "
    "-c FILE "
    "shows whether it does\n";

// A few lines. `behind`: how many events wait for it.
std::string ParkedText(const ParkedEntry& entry, uint64_t behind);
// One object, on a line.
std::string ParkedJson(const ParkedEntry& entry, uint64_t behind);
// All of it.
std::string ParkedDetails(const ParkedEntry& entry, const OwnValue& payload);

// A line about discarded events that were on their way; empty: none was.
// `list`: the verb that shows them.
std::string DiscardedTooLate(const ParkedList::Decided& decided,
                             std::string_view list);

}  // namespace walpost
