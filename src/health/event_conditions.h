// Conditions of single events: one that stops the flow, and those that wait in
// the table of parked events.
#pragma once

#include <optional>

#include "health/condition.h"

namespace walpost {

std::optional<Condition> OfStoppage(const RelaySigns& signs);
std::optional<Condition> OfParking(const RelaySigns& signs);
// The table does not answer, although Postgres does otherwise: events wait to
// be stored there; or none does.
std::optional<Condition> OfUnstoredEvents(const RelaySigns& signs);
std::optional<Condition> OfUnreadParkingTable(const RelaySigns& signs);

}  // namespace walpost
