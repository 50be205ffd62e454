// ParkingTableFacts: facts about parking.table before a stream, by which it is
// decided whether the stream may begin with it.
//
// The birth record of the slot has the name and the oid of the table that the
// slot has used. If that table is missing, or another one has its name, it is
// not known which keys are parked, and nothing is streamed until an operator
// acts (P9).
//
// Pure data; postgres/parking/parking_table.h reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/finding.h"
#include "delivery/parked_table.h"

namespace walpost {

struct ParkingTableFacts {
  std::string name;    // parking.table
  std::string quoted;  // the same in SQL
  std::string slot;
  std::string role;  // of the connection
  // True if the configuration parks events, or keeps dead letters in the table.
  bool is_wanted = false;

  uint32_t oid = 0;            // 0: it does not exist
  bool is_table = true;        // not a view, or the like
  bool has_events = true;      // the columns that each release made
  bool is_durable = true;      // not unlogged
  std::string missing_rights;  // "INSERT, DELETE"
  bool hides_rows = false;     // row-level security, from this role
  bool is_current = true;      // it has all columns
  bool is_owner = false;
  bool may_create = false;  // in the schema

  // The table that the slot has used, as its birth record says.
  ParkedTable on_record;
  bool may_record = false;  // the role owns the publication
  // If another name than `name` is on record:
  uint32_t recorded_oid_now = 0;    // 0: no table has that name
  bool recorded_is_in_use = false;  // events wait there, or are on record

  // SQL for the owner of the schema: makes the table, and grants.
  std::string grant_sql;

  bool exists() const { return oid != 0; }
};

// A reason why a stream cannot use the table.
struct ParkingTableProblem {
  FindingId id;
  std::string text;
  std::string remedy;
  std::string reason_code = {};  // if the table is missing, or is another one
};
// nullopt: a stream may use it.
std::optional<ParkingTableProblem> FindParkingTableProblem(
    const ParkingTableFacts& facts);

// The same, but only problems of the table that the slot has used before.
std::optional<ParkingTableProblem> FindProblemOfHistory(
    const ParkingTableFacts& facts);

// FindParkingTableProblem as an error, kFailedPrecondition, and for `walpost
// check`.
absl::Status ToStatus(const ParkingTableProblem& problem);
absl::Status JudgeParkingTable(const ParkingTableFacts& facts);
Findings CheckParkingTable(const ParkingTableFacts& facts);

// True if the table is to be made, or to get the columns it lacks. Requires
// that there is no problem.
bool MustMakeTable(const ParkingTableFacts& facts);

}  // namespace walpost
