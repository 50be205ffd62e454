// IDENTIFY_SYSTEM: identity of the server, and the end of its WAL.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "postgres/connect/connection.h"

namespace walpost {

struct SystemIdentity {
  std::string system_identifier;
  uint32_t timeline = 0;
  Lsn wal_end;  // flushed
};

// `connection` is a replication connection. Fails as Execute does.
boost::asio::awaitable<absl::StatusOr<SystemIdentity>> IdentifySystem(
    Connection& connection);

}  // namespace walpost
