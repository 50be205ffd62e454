#include "cli/shared/exit_code.h"

#include <cstdio>
#include <string>

#include "base/own_arguments.h"
#include "fmt/format.h"

namespace walpost {

int Fail(const absl::Status& status, ExitCode code) {
  // Not fmt::print, which throws if stderr cannot be written.
  const std::string line = WithOwnArguments(
      fmt::format("walpost: {}\n", std::string(status.message())));
  std::fputs(line.c_str(), stderr);
  return code;
}

}  // namespace walpost
