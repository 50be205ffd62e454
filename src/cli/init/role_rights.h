// RoleRights: what the role of `walpost run` needs, given by `walpost init`
// when it works as an administrator.
//
//   RoleRights rights(connection, config, "walpost");
//   status = co_await rights.Require();           // before anything is made
//   ... make the publication ...
//   status = co_await rights.OwnPublication();    // before it is on record
//   ... make the slot ...
//   status = co_await rights.Give();
//
// What the role has already is left alone. What the administrator may not give
// is printed, as SQL for somebody who may.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/config.h"
#include "postgres/connect/connection.h"

namespace walpost {

class RoleRights {
 public:
  // Both references outlive the object. Empty `role`: nothing is given.
  RoleRights(Connection& connection, const Config& config, std::string role)
      : connection_(connection), config_(config), role_(std::move(role)) {}

  // kFailedPrecondition: there is no such role; has the SQL that makes it.
  boost::asio::awaitable<absl::Status> Require();
  // The comment of the publication has the birth record, and decisions; only
  // its owner may write it. Not if it has other tables: then it is somebody
  // else's.
  boost::asio::awaitable<absl::Status> OwnPublication();
  // Tables of state that are missing. That of parked events only for a slot
  // without one on record: else it was lost, and must not begin again empty.
  enum class SlotUse { kNone, kMaybe };
  boost::asio::awaitable<absl::Status> MakeTables(SlotUse use);
  boost::asio::awaitable<absl::Status> Give();

  // The same, to be read and run by people.
  static std::string Script(const Config& config, const std::string& role);

 private:
  struct Right {
    std::string text;  // "may read public.outbox"
    std::string held;  // SQL expression, true if the role has it
    std::string sql;
  };
  static std::vector<Right> RightsOf(const Config& config,
                                     const std::string& role);
  static Right Ownership(const Config& config, const std::string& role);
  boost::asio::awaitable<absl::Status> GiveRight(Right right);
  boost::asio::awaitable<absl::Status> MakeTable(std::string table,
                                                 std::string sql);

  Connection& connection_;
  const Config& config_;
  std::string role_;
};

}  // namespace walpost
