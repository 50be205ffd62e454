// Reads and writes decisions of operators (checkpoint/event_decision.h) in the
// comment of the publication.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/event_decision.h"
#include "postgres/connection.h"

namespace walpost {

// nullopt: there is none about this slot.
boost::asio::awaitable<absl::StatusOr<std::optional<EventDecision>>>
ReadDecision(Connection& connection, std::string publication, std::string slot);

// Replaces the decision of the same slot; the rest of the comment stays.
// kFailedPrecondition: there is no such publication, or the role does not own
// it: has the SQL for the owner.
boost::asio::awaitable<absl::Status> WriteDecision(Connection& connection,
                                                   std::string publication,
                                                   EventDecision decision);

}  // namespace walpost
