// Output lines of recover and replay about the rows of a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/backfill/table_publisher.h"
#include "outbox/event.h"

namespace walpost {

// A line of a dry run: "42  to be published".
void PrintRow(const Event& row, std::string_view what);

// ", 2 not deliverable (on_error)"; empty: none.
std::string SetAsideText(const TablePublisher::Counts& counts);

// Lines about events that are on record; empty: there are none.
std::string LeftOutText(const DispositionCounts& left_out);
// A line about events that were replicated to the server; empty: none.
std::string OtherOriginText(uint64_t count);
// Both.
std::string LeftOutText(const TablePublisher::Counts& counts);

}  // namespace walpost
