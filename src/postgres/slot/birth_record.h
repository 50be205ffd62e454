// Reads and writes the birth record (checkpoint/birth_record.h) in the comment
// of the publication.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/passed_over.h"
#include "checkpoint/record_update.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// Makes the record of a slot that exists since `consistent_point`: the server's
// identity, the coverage of the publication, and the transaction since which
// rows are sure to come through the slot; and, from an earlier record, the
// table of parked events. Ask the server that has the slot, after it was
// created. `tables` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<BirthRecord>> DescribeBirth(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables, std::string slot,
    Lsn consistent_point);

// If this publication has no record, reads that of another one, under which the
// slot was used before. nullopt: no record of that slot.
boost::asio::awaitable<absl::StatusOr<std::optional<BirthRecord>>>
ReadBirthRecord(Connection& connection, std::string publication,
                std::string slot);

// Replaces the record of the same slot; the rest of the comment stays.
// kFailedPrecondition: the role does not own the publication.
boost::asio::awaitable<absl::Status> WriteBirthRecord(Connection& connection,
                                                      std::string publication,
                                                      BirthRecord record);

// The same, if the record is required. The text of kFailedPrecondition begins
// with `consequence`, and has the SQL for the owner.
boost::asio::awaitable<absl::Status> RequireBirthRecord(
    Connection& connection, std::string publication, BirthRecord record,
    std::string consequence);

// Adds relations whose rows were passed over to the record of the slot. Returns
// nullopt if they are on record; else the role may not write it, or there is no
// record: the oids of the tables that it lists.
boost::asio::awaitable<absl::StatusOr<std::optional<std::vector<uint32_t>>>>
RecordPassedOver(Connection& connection, std::string publication,
                 std::string slot, PassedOver passed_over);

// Adds a topic of dead letters to the record of the slot. kNotFound: there is
// none. kFailedPrecondition: the role may not write it.
boost::asio::awaitable<absl::Status> RecordLetterTopic(Connection& connection,
                                                       std::string publication,
                                                       std::string slot,
                                                       std::string topic);

// Rows of transactions from here on come after everything so far.
boost::asio::awaitable<absl::StatusOr<RecordFence>> ReadFence(
    Connection& connection);

// The SQL for it, for the owner of the publication to run.
boost::asio::awaitable<absl::StatusOr<std::string>> BirthRecordSql(
    Connection& connection, std::string publication, BirthRecord record);

}  // namespace walpost
