// Exit codes of walpost. Documented in README.md; scripts depend on them.
#pragma once

#include "absl/status/status.h"

namespace walpost {

enum ExitCode : int {
  kExitOk = 0,
  kExitFindings = 1,  // `check` or `verify` found an error; `status`: not ready
  kExitUsage = 2,     // command line or configuration
  kExitPostgres = 3,  // Postgres refuses as configured
  kExitKafka = 4,     // Kafka refuses as configured
  kExitBug = 70,
};

// Prints the status as one line on stderr and returns `code`.
int Fail(const absl::Status& status, ExitCode code);

}  // namespace walpost
