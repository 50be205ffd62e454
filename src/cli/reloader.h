// Reloader: what `run` does about SIGHUP.
//
// Reads the configuration file again, with --set laid over it, and takes up
// what a running process can: log.* and credentials (LiveConfig). The log
// says which keys changed, and which of them need a restart. A file with an
// error changes nothing, and never ends the process.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "config/live_config.h"

namespace walpost {

class Reloader {
 public:
  // `live` outlives this. `load` reads the file; `on_reloaded` is called when
  // it was in order, whatever has changed, since the files that it names may
  // have other contents.
  Reloader(LiveConfig& live, std::function<absl::StatusOr<Config>()> load,
           std::function<void()> on_reloaded);

  void Reload();

 private:
  LiveConfig& live_;
  std::function<absl::StatusOr<Config>()> load_;
  std::function<void()> on_reloaded_;
};

}  // namespace walpost
