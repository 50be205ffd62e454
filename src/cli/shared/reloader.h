// Reloader: handles SIGHUP for `run`.
//
// Reads the configuration file again, with --set applied, and takes up the keys
// that a running process can change: log.* and credentials (LiveConfig). The
// log says which keys changed, and which of them need a restart. A file with an
// error changes nothing, and never stops the process. A file that cannot be
// read completely, on a disk that hangs, only blocks other reloads.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>

#include "absl/status/statusor.h"
#include "app/process/service_notifier.h"
#include "config/live_config.h"

namespace walpost {

class Reloader {
 public:
  // `live` outlives this object. `load` reads the file; it runs on a thread of
  // its own, and must not refer to anything that may be destroyed.
  // `on_reloaded` is called after a valid file, even if no key has changed,
  // because the files that it names may have new contents. `notifier`, which
  // also outlives this object, learns when a reload begins and ends.
  Reloader(boost::asio::any_io_executor executor, LiveConfig& live,
           ServiceNotifier& notifier,
           std::function<absl::StatusOr<Config>()> load,
           std::function<void()> on_reloaded);

  // If a reload is running, starts after it.
  void Reload();
  // A reload has begun and not ended.
  bool is_loading() const { return is_loading_; }

 private:
  boost::asio::awaitable<void> Load();
  void TakeUp(const absl::StatusOr<Config>& fresh);

  boost::asio::any_io_executor executor_;
  LiveConfig& live_;
  ServiceNotifier& notifier_;
  std::function<absl::StatusOr<Config>()> load_;
  std::function<void()> on_reloaded_;
  bool is_loading_ = false;
  bool is_wanted_ = false;  // again, for changes since it began
};

}  // namespace walpost
