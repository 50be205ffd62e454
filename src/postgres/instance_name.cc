#include "postgres/instance_name.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>

#include "fmt/format.h"

namespace walpost {
namespace {

// NAMEDATALEN - 1, the server's limit for application_name.
constexpr size_t kMaxNameLength = 63;
constexpr size_t kMachineIdDigits = 8;

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  const std::string host = name;
  if (!host.empty() && host != "localhost") return host;
  std::string machine;
  std::ifstream("/etc/machine-id") >> machine;
  return "localhost-" + machine.substr(0, kMachineIdDigits);
}

}  // namespace

InstanceName::InstanceName(std::string slot, std::string host, long pid)
    : prefix_(fmt::format("walpost:{}:{}:", slot, host)),
      pid_(pid),
      text_(fmt::format("{}{}", prefix_, pid).substr(0, kMaxNameLength)) {}

InstanceName InstanceName::OfThisProcess(const std::string& slot) {
  return InstanceName(slot, HostName(), getpid());
}

bool InstanceName::IsDeadPredecessor(std::string_view other,
                                     IsAlive is_alive) const {
  if (!other.starts_with(prefix_) || other.size() >= kMaxNameLength)
    return false;
  const std::string_view digits = other.substr(prefix_.size());
  long pid = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      pid <= 0) {
    return false;
  }
  return pid == pid_ || !is_alive(pid);
}

bool ProcessIsAlive(long pid) {
  return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

}  // namespace walpost
