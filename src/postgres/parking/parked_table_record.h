// Reads the facts about the table of parked events, and puts on record which
// table a slot uses.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "delivery/parked_table.h"
#include "parking/parking_table_facts.h"
#include "postgres/connect/connection.h"
#include "postgres/parking/parking_sql.h"

namespace walpost {

// Leaves the table as it is. `on_record`: of the birth record. `from`: a stream
// shows no events of earlier commits.
boost::asio::awaitable<absl::StatusOr<ParkingTableFacts>> ReadParkingTableFacts(
    Connection& connection, ParkingNames names, std::string publication,
    ParkedTable on_record, Lsn from);

// Puts on record which table the slot uses: in its birth record, if the comment
// of the publication has one.
boost::asio::awaitable<absl::Status> RecordParkedTable(Connection& connection,
                                                       std::string publication,
                                                       std::string slot,
                                                       ParkedTable table);

}  // namespace walpost
