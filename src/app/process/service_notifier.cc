#include "app/process/service_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "base/time.h"
#include "fmt/format.h"
#include "log/log.h"

namespace walpost {
namespace {

using std::chrono::microseconds;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsAddress(std::string_view name) {
  return name.size() > 1 && name.size() < sizeof(sockaddr_un::sun_path) &&
         (name.front() == '/' || name.front() == '@');
}

// True if it is connected; else errno says why.
bool Connect(int socket, std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  const size_t length = offsetof(sockaddr_un, sun_path) + name.size();
  return connect(socket, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(length)) == 0;
}

}  // namespace

ServiceNotifier::Options ServiceNotifier::OptionsFromEnvironment() {
  Options options{.socket = Variable("NOTIFY_SOCKET")};
  const std::string pid = Variable("WATCHDOG_PID");
  int64_t micros = 0;
  if (absl::SimpleAtoi(Variable("WATCHDOG_USEC"), &micros) && micros > 0 &&
      (pid.empty() || pid == fmt::format("{}", getpid()))) {
    options.watchdog = microseconds(micros);
  }
  return options;
}

ServiceNotifier::ServiceNotifier(const Options& options) : options_(options) {
  if (options.socket.empty()) return;
  const char* trouble = "it is neither a path nor @NAME";
  if (IsAddress(options.socket)) {
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ >= 0 && Connect(socket_, options.socket)) return;
    trouble = std::strerror(errno);
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  LogWarn("the service manager cannot be told: NOTIFY_SOCKET {}: {}",
          options.socket, trouble);
}

ServiceNotifier::~ServiceNotifier() {
  if (socket_ >= 0) close(socket_);
}

microseconds ServiceNotifier::interval() const {
  constexpr microseconds kUsual = std::chrono::seconds(1);
  if (options_.watchdog == microseconds(0)) return kUsual;
  return std::min(kUsual, options_.watchdog / 2);
}

void ServiceNotifier::OnStatus(std::string_view line, bool is_known) {
  const bool is_new = is_known && !is_ready_;
  std::string text;
  if (is_new) text += "READY=1\n";
  if (line != told_) text += fmt::format("STATUS={}\n", line);
  if (options_.watchdog > microseconds(0)) text += "WATCHDOG=1\n";
  if (text.empty() || !Send(text)) return;
  told_ = line;
  is_ready_ = is_ready_ || is_new;
}

void ServiceNotifier::OnReloadBegin() {
  if (!is_ready_) return;
  const auto now = std::chrono::duration_cast<microseconds>(
      MonotonicTime::clock::now().time_since_epoch());
  Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\n", now.count()));
}

void ServiceNotifier::OnReloadEnd() {
  // If it is dropped, the next status says it.
  if (is_ready_) is_ready_ = Send("READY=1\n");
}

void ServiceNotifier::OnEnd() const { Send("STOPPING=1\n"); }

bool ServiceNotifier::Send(std::string_view text) const {
  return is_enabled() &&
         send(socket_, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
}

}  // namespace walpost
