// The limit of open files.
#pragma once

#include "absl/status/status.h"

namespace walpost {

// kUnavailable, right after a call that wanted a descriptor has failed: errno
// says why.
absl::Status NoDescriptor();

// kUnavailable: the process cannot open so many more now.
absl::Status RequireDescriptors(int count);

}  // namespace walpost
