// Output lines of recover and replay about the rows of a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/backfill/table_publisher.h"
#include "config/config.h"
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

// Prints the warning before a verb sends events that Kafka would not keep.
// `tables`: empty: all.
void PrintKafkaDeletions(const Config& config,
                         const std::vector<std::string>& tables);

}  // namespace walpost
