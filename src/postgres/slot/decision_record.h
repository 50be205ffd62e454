// Reads and writes decisions of operators (checkpoint/event_decision.h) in the
// comment of the publication.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/event_decision.h"
#include "postgres/connect/connection.h"

namespace walpost {

// The decisions in these comments (ReadPublicationComments) about this slot.
std::vector<EventDecision> FindDecisionsIn(
    const std::vector<std::string>& comments, std::string_view slot);

// The decisions about this slot, including those in the comments of
// publications with which it was used before.
boost::asio::awaitable<absl::StatusOr<std::vector<EventDecision>>>
ReadDecisions(Connection& connection, std::string publication,
              std::string slot);

// Replaces a decision about the same event; the rest of the comment stays.
// kFailedPrecondition: there is no such publication, or the role does not own
// it: has the SQL for the owner. kResourceExhausted: kMaxDecisions are there.
boost::asio::awaitable<absl::Status> WriteDecision(Connection& connection,
                                                   std::string publication,
                                                   EventDecision decision);

}  // namespace walpost
