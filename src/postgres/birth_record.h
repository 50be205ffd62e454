// The birth record: that a slot was made, kept where a slot cannot get lost.
//
// A line in the comment of the publication:
//
//   walpost: slot orders born at 0/1A2B3C8 of system 7710532146069433627
//
// It is there when the slot is dropped, and it goes along when the database is
// copied, backed up or promoted. So a slot that is missing, and one that
// belongs to another cluster, are noticed without any checkpoint store (P9).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "postgres/connection.h"

namespace walpost {

struct BirthRecord {
  std::string slot;
  Lsn consistent_point;
  std::string system_identifier;

  friend bool operator==(const BirthRecord&, const BirthRecord&) = default;
};

// nullopt: no record of that slot, or no such publication.
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

// The record of `slot` in a comment, and a comment with `record` laid over it.
std::optional<BirthRecord> FindBirthRecord(std::string_view comment,
                                           std::string_view slot);
std::string WithBirthRecord(std::string_view comment,
                            const BirthRecord& record);

}  // namespace walpost
