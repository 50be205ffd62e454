// stdin, stdout and stderr of the process.
#pragma once

#include "absl/status/status.h"

namespace walpost {

// Opens /dev/null for each one that is closed: else the next file or socket
// gets its number, and the output. Call it before opening anything.
void OpenClosedStreams();

// Flushes stdout. kUnavailable: that failed, as on a full disk. A pipe whose
// reader has closed it is not an error.
absl::Status FlushStdout();

// The same for a write to stdout that failed with `error` (errno).
absl::Status StdoutStatus(int error);

}  // namespace walpost
