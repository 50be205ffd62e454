// ServiceNotifier: reports the state of `run` to systemd (sd_notify(3),
// Type=notify).
//
//   READY=1                      once, when the state is known
//   STATUS=stuck: Kafka at ...   when it has changed
//   WATCHDOG=1                   with each status, if the unit has WatchdogSec=
//   RELOADING=1, then READY=1    when a reload begins and ends
//   STOPPING=1                   when the end begins
//
// Never blocks: a datagram that the manager does not take at once is dropped,
// and what is still true is sent again with the next status. An address that
// does not answer is logged once. Without a manager nothing is sent.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace walpost {

class ServiceNotifier {
 public:
  struct Options {
    std::string socket;  // a path, or @NAME for an abstract one; empty: none
    std::chrono::microseconds watchdog{0};  // 0: none
  };

  // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static Options OptionsFromEnvironment();

  explicit ServiceNotifier(const Options& options);
  ~ServiceNotifier();
  ServiceNotifier(const ServiceNotifier&) = delete;
  ServiceNotifier& operator=(const ServiceNotifier&) = delete;

  bool is_enabled() const { return socket_ >= 0; }

  // Time between two calls of OnStatus: a second, or half of the watchdog.
  std::chrono::microseconds interval() const;

  // `line` has no line break. `is_known`: the state is known, so that systemd
  // may regard the unit as started.
  void OnStatus(std::string_view line, bool is_known);
  void OnReloadBegin();
  void OnReloadEnd();
  // Thread-safe.
  void OnEnd() const;

 private:
  bool Send(std::string_view text) const;

  Options options_;
  int socket_ = -1;
  bool is_ready_ = false;  // is told
  std::string told_;
};

}  // namespace walpost
