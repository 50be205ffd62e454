// Reads and writes the birth record (delivery/birth_record.h) in the comment of
// the publication.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "delivery/birth_record.h"
#include "outbox/options.h"
#include "postgres/connection.h"

namespace walpost {

// The record of a slot that exists since `consistent_point`: who the server is,
// what the publication covers, and since which transaction rows are sure to
// come through the slot. Ask on the server that has the slot, after it was
// made. `tables` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<BirthRecord>> DescribeBirth(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables, std::string slot,
    Lsn consistent_point);

// Where this publication has none, that of another one, under which the slot
// was used before. nullopt: no record of that slot.
boost::asio::awaitable<absl::StatusOr<std::optional<BirthRecord>>>
ReadBirthRecord(Connection& connection, std::string publication,
                std::string slot);

// Puts it in place of one of the same slot; the rest of the comment stays.
// kFailedPrecondition: the role does not own the publication.
boost::asio::awaitable<absl::Status> WriteBirthRecord(Connection& connection,
                                                      std::string publication,
                                                      BirthRecord record);

// The same, where it may not be missing. kFailedPrecondition begins with
// `consequence`, and has the SQL for the owner.
boost::asio::awaitable<absl::Status> RequireBirthRecord(
    Connection& connection, std::string publication, BirthRecord record,
    std::string consequence);

// The SQL that does it, for the owner of the publication to run.
boost::asio::awaitable<absl::StatusOr<std::string>> BirthRecordSql(
    Connection& connection, std::string publication, BirthRecord record);

}  // namespace walpost
