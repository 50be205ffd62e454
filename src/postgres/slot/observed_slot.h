// ObservedSlot: the server, the slot and its record, from one look.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/birth_record.h"
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

}  // namespace walpost
