#include "postgres/connect/system_identity.h"

#include "base/status_macros.h"

namespace walpost {

boost::asio::awaitable<absl::StatusOr<SystemIdentity>> IdentifySystem(
    Connection& connection) {
  const std::string command = "IDENTIFY_SYSTEM";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(command));
  SystemIdentity identity;
  identity.system_identifier = rows.Text(0, 0);
  identity.timeline = static_cast<uint32_t>(rows.Unsigned(0, 1));
  identity.wal_end = Lsn::Parse(rows.Text(0, 2)).value_or(Lsn());
  co_return identity;
}

}  // namespace walpost
