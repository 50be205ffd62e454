// SpareDescriptor: a file descriptor in reserve, for when there is no other.
//
// accept() fails once the limit of the process is reached. Releasing the spare
// makes room for exactly one connection, which is sufficient for a probe.
//
// Owned by the listener of the HTTP server.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace walpost {

class SpareDescriptor {
 public:
  SpareDescriptor() { Acquire(); }
  ~SpareDescriptor() { Release(); }
  SpareDescriptor(const SpareDescriptor&) = delete;
  SpareDescriptor& operator=(const SpareDescriptor&) = delete;

  // Opens it again if it was released and a descriptor is free.
  void Acquire() {
    if (fd_ < 0) fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }

  // Releases it. False: it was released before.
  bool Release() {
    const int fd = std::exchange(fd_, -1);
    return fd >= 0 && close(fd) == 0;
  }

 private:
  int fd_ = -1;
};

}  // namespace walpost
