// Reads and writes records of pauses (checkpoint/pause_record.h), in the
// comment of the publication or, with source: polling, of each table.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/pause_record.h"
#include "postgres/connect/connection.h"

namespace walpost {

// The newest record in the comments of all publications, because the slot may
// have been used with another publication before.
boost::asio::awaitable<absl::StatusOr<std::optional<PauseRecord>>> ReadPause(
    Connection& connection, std::string publication, std::string slot);
// `table`: as in outbox.tables. nullopt: also if there is no such table.
boost::asio::awaitable<absl::StatusOr<std::optional<PauseRecord>>>
ReadTablePause(Connection& connection, std::string table);

// Replaces earlier records; the rest of the comment stays. `record.at` is set
// to the server's time. kFailedPrecondition: there is no such publication, or
// the role does not own it: has the SQL for the owner.
boost::asio::awaitable<absl::Status> WritePause(Connection& connection,
                                                std::string publication,
                                                std::string slot,
                                                PauseRecord record);
// The same for polled tables. The record is written to each table that the role
// owns, even if the role does not own others.
boost::asio::awaitable<absl::Status> WriteTablePauses(
    Connection& connection, std::vector<std::string> tables,
    PauseRecord record);

}  // namespace walpost
