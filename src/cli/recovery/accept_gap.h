// AcceptGap: `walpost recover --accept`, continue with the slot as it stands.
//
// Nothing is published. The gap is removed from the record: the birth record
// and the checkpoint are replaced by new ones, without the gap. Earlier rows
// have no proof any more that they were sent, so retention keeps them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/status.h"
#include "cli/shared/slot_inspection.h"
#include "config/config.h"

namespace walpost {

// kFailedPrecondition: there is no slot to continue with; or the publication
// has a record that the role may not replace, with the SQL for its owner.
boost::asio::awaitable<absl::Status> AcceptGap(
    boost::asio::any_io_executor executor, const Config& config,
    SlotInspection inspection);

}  // namespace walpost
