// Conditions of single events: one that stops the flow, and those that wait in
// the table of parked events.
#pragma once

#include <optional>

#include "health/condition.h"

namespace walpost {

std::optional<Condition> OfStoppage(const RelaySigns& signs);
std::optional<Condition> OfParking(const RelaySigns& signs);
// The table does not answer. It is a part of Postgres, which answers otherwise.
std::optional<Condition> OfParkingTable(const RelaySigns& signs);

}  // namespace walpost
