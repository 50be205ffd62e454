#include "postgres/connect/instance_name.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>

#include "base/fitted_name.h"
#include "fmt/format.h"
#include "postgres/connect/session_name.h"

namespace walpost {
namespace {

constexpr size_t kMaxPidDigits = 7;  // of Linux
constexpr size_t kMaxTaskBytes = 5;  // ":side"
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
    : prefix_(SessionPrefix(slot)), pid_(pid) {
  const size_t room =
      kMaxNameBytes - prefix_.size() - 1 - kMaxPidDigits - kMaxTaskBytes;
  prefix_ += FittedName(host, room, '~') + ":";
  text_ = fmt::format("{}{}", prefix_, pid);
}

InstanceName InstanceName::OfThisProcess(const std::string& slot) {
  return InstanceName(slot, HostName(), getpid());
}

bool InstanceName::IsDeadPredecessor(std::string_view other,
                                     IsAlive is_alive) const {
  if (!other.starts_with(prefix_) || other.size() >= kMaxNameBytes)
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
