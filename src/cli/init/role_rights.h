// RoleRights: the rights that the role of `walpost run` needs. `walpost init`
// grants them when it works as an administrator.
//
//   RoleRights rights(connection, config, "walpost");
//   status = co_await rights.Require();           // before anything is made
//   ... make the publication ...
//   status = co_await rights.OwnPublication();    // before it is on record
//   ... make the slot ...
//   status = co_await rights.Give();
//
// Rights that the role has already are not changed. Rights that the
// administrator may not grant are printed as SQL.
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
  // Makes the role the owner of the publication, because only the owner may
  // write its comment, which has the birth record and decisions. A publication
  // with other tables keeps its owner.
  boost::asio::awaitable<absl::Status> OwnPublication();
  // Makes missing tables of walpost. Makes the table of parked events only for
  // a slot without one on record: otherwise the table was lost, and must not
  // begin again empty.
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
