// SlotSight: the server, the slot and its record, from one look.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/birth_record.h"
#include "postgres/connection.h"
#include "postgres/slot.h"
#include "postgres/source_options.h"

namespace walpost {

struct SlotSight {
  std::string system_identifier;
  uint32_t timeline = 0;
  std::optional<SlotState> slot;
  std::optional<BirthRecord> birth;
};

// Needs a replication connection. Errors come from FindSlot and the connection.
boost::asio::awaitable<absl::StatusOr<SlotSight>> LookAtSlot(
    Connection& connection, const WalSourceOptions& postgres);

}  // namespace walpost
