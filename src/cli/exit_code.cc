#include "cli/exit_code.h"

#include <cstdio>
#include <string>

#include "fmt/format.h"

namespace walpost {

int Fail(const absl::Status& status, ExitCode code) {
  fmt::print(stderr, "walpost: {}\n", std::string(status.message()));
  return code;
}

}  // namespace walpost
