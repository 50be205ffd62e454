// The guard slot: a second, idle slot that keeps WAL behind the live slot, so
// that it can be replayed.
//
//   <slot>          streams; confirmed as soon as Kafka has it
//   <slot>_guard    nobody streams from it; ReplayWindowService moves it
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
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"

namespace walpost {

// If the slot has more than 57 letters, a hash takes the place of some.
std::string ReplayWindowSlotName(std::string_view slot);

// Creates the guard slot if it is missing, as a copy of the live slot, which
// must exist, at its position. Replaces a lost guard slot, with a warning. Does
// nothing if the guard slot is intact. Needs a replication connection.
boost::asio::awaitable<absl::Status> EnsureGuardSlot(Connection& connection,
                                                     std::string slot,
                                                     bool failover);

// Prepares the guard slot before a stream. With replay on: EnsureGuardSlot,
// whose failure is only logged (without a guard slot, all but replay works).
// With replay off: a warning about a guard slot that is left over.
boost::asio::awaitable<void> SetUpGuardSlot(Connection& connection,
                                            const WalSourceOptions& options);

}  // namespace walpost
