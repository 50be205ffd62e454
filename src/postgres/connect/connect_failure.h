// Messages about a connection that could not be made.
#pragma once

#include <libpq-fe.h>

#include <string>

#include "absl/status/status.h"

namespace walpost {

// Names the user and the target; never contains the password.
std::string DescribeTarget(const PGconn* raw);

// Error of libpq or the server for `raw`, which failed to connect, plus the
// remedy for causes that only show here. kFailedPrecondition: another attempt
// would also fail.
absl::Status ConnectFailure(const PGconn* raw);

// True if the role may not replicate.
bool LacksReplication(const absl::Status& status);

}  // namespace walpost
