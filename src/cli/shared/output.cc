#include "cli/shared/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "fmt/format.h"

namespace walpost {

void OpenClosedStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // Gets the lowest free number, which is this one.
    (void)!open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  }
}

absl::Status FlushStdout() {
  return std::fflush(stdout) == 0 ? absl::OkStatus() : StdoutStatus(errno);
}

absl::Status StdoutStatus(int error) {
  if (error == EPIPE) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("stdout cannot be written: {}", std::strerror(error)));
}

}  // namespace walpost
