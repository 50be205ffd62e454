// SlotSight: one look at the server, the slot and what is on record of it.
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

// Over a replication connection. Errors are those of FindSlot, and of the
// connection.
boost::asio::awaitable<absl::StatusOr<SlotSight>> LookAtSlot(
    Connection& connection, const WalSourceOptions& postgres);

}  // namespace walpost
