#include "cli/reloader.h"

#include <algorithm>
#include <utility>

#include "app/process_log.h"
#include "fmt/ranges.h"
#include "spdlog/spdlog.h"

namespace walpost {

Reloader::Reloader(LiveConfig& live,
                   std::function<absl::StatusOr<Config>()> load,
                   std::function<void()> on_reloaded)
    : live_(live),
      load_(std::move(load)),
      on_reloaded_(std::move(on_reloaded)) {}

void Reloader::Reload() {
  const absl::StatusOr<Config> fresh = load_();
  if (!fresh.ok()) {
    spdlog::error("SIGHUP: the configuration stays as it was: {}",
                  std::string(fresh.status().message()));
    return;
  }
  const LogLevel before = live_.config().log.level;
  const LiveConfig::Changes changes = live_.TakeUp(*fresh);
  LogOptions log = live_.config().log;
  log.level =
      std::min(before, log.level);  // so that one of the two shows this:
  ProcessLog::Configure(log);
  spdlog::info(
      "SIGHUP: configuration reloaded; {}",
      changes.taken_up.empty()
          ? "no key that is taken up has changed"
          : fmt::format("taken up: {}", fmt::join(changes.taken_up, ", ")));
  if (!changes.need_restart.empty()) {
    spdlog::warn("SIGHUP: restart walpost to take up {}",
                 fmt::join(changes.need_restart, ", "));
  }
  ProcessLog::Configure(live_.config().log);
  on_reloaded_();
}

}  // namespace walpost
