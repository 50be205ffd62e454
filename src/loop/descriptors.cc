#include "loop/descriptors.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "fmt/format.h"

namespace walpost {

absl::Status NoDescriptor() {
  return absl::UnavailableError(fmt::format(
      "no file descriptor can be opened ({}): raise the limit of open files "
      "(ulimit -n, or LimitNOFILE= in the systemd unit)",
      std::strerror(errno)));
}

absl::Status RequireDescriptors(int count) {
  std::vector<int> opened;
  absl::Status status;
  for (; count > 0 && status.ok(); --count) {
    const int fd = opened.empty() ? eventfd(0, EFD_CLOEXEC)
                                  : fcntl(opened[0], F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
      status = NoDescriptor();
    } else {
      opened.push_back(fd);
    }
  }
  for (const int fd : opened) close(fd);
  return status;
}

}  // namespace walpost
