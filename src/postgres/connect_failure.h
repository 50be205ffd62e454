// What is said of a connection that could not be made.
#pragma once

#include <libpq-fe.h>

#include <string>

#include "absl/status/status.h"

namespace walpost {

// Who connects whereto; never with the password.
std::string DescribeTarget(const PGconn* raw);

// What libpq and the server say of `raw`, whose connecting failed, with the
// remedy of what only shows here. kFailedPrecondition: no other attempt will
// go better.
absl::Status ConnectFailure(const PGconn* raw);

}  // namespace walpost
