#include "cli/shared/reloader.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "fmt/ranges.h"
#include "log/log.h"
#include "log/process_log.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;

Reloader::Reloader(asio::any_io_executor executor, LiveConfig& live,
                   ServiceNotifier& notifier,
                   std::function<absl::StatusOr<Config>()> load,
                   std::function<void()> on_reloaded)
    : executor_(std::move(executor)),
      live_(live),
      notifier_(notifier),
      load_(std::move(load)),
      on_reloaded_(std::move(on_reloaded)) {}

void Reloader::Reload() {
  is_wanted_ = true;
  if (is_loading_) {
    LogWarn(
        "SIGHUP: the configuration is still being read; it is read again "
        "afterwards");
    return;
  }
  is_loading_ = true;
  asio::co_spawn(executor_, Load(), asio::detached);
}

asio::awaitable<void> Reloader::Load() {
  notifier_.OnReloadBegin();
  while (std::exchange(is_wanted_, false)) {
    auto call = BlockingCall<absl::StatusOr<Config>>::Start(executor_, load_);
    if (!call.ok()) {
      LogError("SIGHUP: {}", std::string(call.status().message()));
      continue;
    }
    const auto loaded = co_await (*call)->Wait(MonotonicTime::max());
    if (loaded) TakeUp(*loaded);
  }
  is_loading_ = false;
  notifier_.OnReloadEnd();
}

void Reloader::TakeUp(const absl::StatusOr<Config>& fresh) {
  if (!fresh.ok()) {
    LogError("SIGHUP: the configuration stays as it was: {}",
             std::string(fresh.status().message()));
    return;
  }
  const LogLevel before = live_.config().log.level;
  const LiveConfig::Changes changes = live_.TakeUp(*fresh);
  LogOptions log = live_.config().log;
  log.level =
      std::min(before, log.level);  // so that one of the two levels shows this:
  ProcessLog::Configure(log);
  LogInfo("SIGHUP: configuration reloaded; {}",
          changes.taken_up.empty()
              ? "no key that is taken up has changed"
              : fmt::format("taken up: {}", fmt::join(changes.taken_up, ", ")));
  if (!changes.need_restart.empty()) {
    const bool has_tables =
        std::ranges::any_of(changes.need_restart, [](const std::string& key) {
          return key.starts_with("outbox.tables");
        });
    LogWarn("SIGHUP: restart walpost to take up {}{}",
            fmt::join(changes.need_restart, ", "),
            has_tables ? "; until then it passes over rows of a table that "
                         "is new in outbox.tables"
                       : "");
  }
  ProcessLog::Configure(live_.config().log);
  on_reloaded_();
}

}  // namespace walpost
