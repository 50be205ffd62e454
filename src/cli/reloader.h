// Reloader: what `run` does about SIGHUP.
//
// Reads the configuration file again, with --set laid over it, and takes up
// what a running process can: log.* and credentials (LiveConfig). The log
// says which keys changed, and which of them need a restart. A file with an
// error changes nothing, and never ends the process; one that cannot be read to
// its end, on a disk that hangs, holds up nothing but other reloads.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>

#include "absl/status/statusor.h"
#include "config/live_config.h"

namespace walpost {

class Reloader {
 public:
  // `live` outlives this. `load` reads the file; it runs on a thread of its
  // own, and refers to nothing that may be destroyed. `on_reloaded` is called
  // when it was in order, whatever has changed, since the files that it names
  // may have other contents.
  Reloader(boost::asio::any_io_executor executor, LiveConfig& live,
           std::function<absl::StatusOr<Config>()> load,
           std::function<void()> on_reloaded);

  // While an earlier one is under way: after it.
  void Reload();

 private:
  boost::asio::awaitable<void> Load();
  void TakeUp(const absl::StatusOr<Config>& fresh);

  boost::asio::any_io_executor executor_;
  LiveConfig& live_;
  std::function<absl::StatusOr<Config>()> load_;
  std::function<void()> on_reloaded_;
  bool is_loading_ = false;
  bool is_wanted_ = false;  // again, for what changed since it began
};

}  // namespace walpost
