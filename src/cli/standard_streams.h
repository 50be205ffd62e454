// stdin, stdout and stderr of the process.
#pragma once

#include "absl/status/status.h"

namespace walpost {

// Opens /dev/null in place of each one that is closed: else the next file or
// socket takes its number, and output goes there. Before anything is opened.
void OpenClosedStreams();

// Writes out what stdout holds. kUnavailable: that failed, as on a full disk.
// A pipe whose reader has gone is not an error.
absl::Status FlushStdout();

// Of a write to stdout that failed with `error` (errno); likewise.
absl::Status StdoutStatus(int error);

}  // namespace walpost
