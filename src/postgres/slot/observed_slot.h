// ObservedSlot: the server, the slot and its record, from one look.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/slot_history.h"
#include "checkpoint/source_identity.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/server_options.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/slot.h"

namespace walpost {

struct ObservedSlot {
  std::string system_identifier;
  uint32_t timeline = 0;
  std::optional<SlotState> slot;
  std::optional<BirthRecord> birth;
};

// Needs a replication connection. Errors come from FindSlot and the connection.
boost::asio::awaitable<absl::StatusOr<ObservedSlot>> LookAtSlot(
    Connection& connection, const WalSourceOptions& postgres);

enum class HasCheckpoint { kNo, kYes };

// The history of a slot, judged by the server's state now. A record of another
// system counts as kUsed: checkpoint/continuity.h decides whether that is a
// gap.
SlotHistory HistoryOf(const std::optional<SlotState>& slot,
                      const std::optional<BirthRecord>& birth,
                      std::string_view system_identifier,
                      HasCheckpoint has_checkpoint);

// Identifies the server on a short connection of its own, before the stream is
// opened. Errors come from Connection::Connect and Execute.
boost::asio::awaitable<absl::StatusOr<SourceIdentity>> IdentifySource(
    boost::asio::any_io_executor executor, ServerOptions server,
    std::string publication, std::string slot);

}  // namespace walpost
