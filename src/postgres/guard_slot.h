// The guard slot: a second, idle slot that keeps WAL behind the live one, so
// that it can be replayed.
//
//   <slot>          streams; confirmed as soon as Kafka has it
//   <slot>_guard    nobody streams from it; GuardKeeper moves it
//
// Postgres streams nothing from before a slot's confirmed_flush_lsn, and the
// live slot must not lag: a fast shutdown would wait for it, and each reconnect
// would decode the window again. A replay reads a temporary copy of the guard
// slot (replay_source.h).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "postgres/connection.h"
#include "postgres/source_options.h"

namespace walpost {

std::string GuardSlotName(std::string_view slot);

// On a replication connection: makes the guard slot where it is missing, as a
// copy of the live slot, which exists, and where that stands. One that is lost
// goes, loudly, and another one takes its place. Has no effect on a guard slot
// that is in order.
boost::asio::awaitable<absl::Status> EnsureGuardSlot(Connection& connection,
                                                     std::string slot,
                                                     bool failover);

// Before a stream, as the options have it: EnsureGuardSlot, whose failure is
// only logged (without a guard slot all but replay works); or with replay off,
// a warning of a guard slot that is left over.
boost::asio::awaitable<void> SetUpGuardSlot(Connection& connection,
                                            const WalSourceOptions& options);

}  // namespace walpost
