// walpost run: publishes until asked to stop.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "admin/http_server.h"
#include "app/live/relay.h"
#include "app/live/table_expansion.h"
#include "app/polling/polling_relay.h"
#include "app/process/retention_service.h"
#include "app/process/service_notifier.h"
#include "app/process/signal_thread.h"
#include "app/sink/sinks.h"
#include "base/error_source.h"
#include "base/own_arguments.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "base/version.h"
#include "cli/shared/check_values.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/reloader.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/time_option.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/printer.h"
#include "health/state_line.h"
#include "log/log.h"
#include "log/process_log.h"
#include "loop/as_tuple.h"
#include "outbox/table_pattern.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

// After shutdown_timeout, time for the last messages to both ends.
constexpr std::chrono::seconds kEndGrace{3};

// Uses the log, because stderr may be a pipe that nobody reads.
int LogFailure(const absl::Status& status, ExitCode code) {
  LogError({{"reason_code", ReasonCodeOf(status)}}, "{}",
           std::string(status.message()));
  return code;
}

struct Arguments {
  ConfigArguments config;
  std::string from_lsn;
  bool print_config = false;
};

std::string NewRunId() {
  std::random_device random;
  return UuidV7(WallNow(), {random(), random(), random()});
}

absl::StatusOr<Config> LoadFirst(const Arguments& arguments) {
  WALPOST_ASSIGN_OR_RETURN(Config config, arguments.config.Load());
  WALPOST_ASSIGN_OR_RETURN(config.postgres.from_lsn,
                           ParseLsnOption("--from-lsn", arguments.from_lsn));
  config.outbox.run_id = NewRunId();
  if (config.postgres.from_lsn.is_valid()) {
    WALPOST_RETURN_IF_ERROR(RequireWalSource(
        config, "--from-lsn", "leave it out, the rows say what is pending"));
  }
  return config;
}

// For SIGHUP: only reads.
absl::StatusOr<Config> ReloadConfig(const ConfigArguments& arguments) {
  WALPOST_ASSIGN_OR_RETURN(Config config, arguments.Read());
  WALPOST_RETURN_IF_ERROR(RequireBothEnds(config));
  return config;
}

// What signals are for: the relay that runs now. The signal thread outlives
// several relays.
class SignalTarget {
 public:
  void Set(asio::io_context* io, std::function<void()> shutdown,
           std::function<void()> reload) {
    const std::lock_guard lock(mutex_);
    io_ = io;
    shutdown_ = std::move(shutdown);
    reload_ = std::move(reload);
    if (io_ == nullptr) return;
    if (is_asked_to_end_) asio::post(*io_, shutdown_);
    if (std::exchange(is_asked_to_reload_, false)) asio::post(*io_, reload_);
  }
  void Shutdown() {
    const std::lock_guard lock(mutex_);
    is_asked_to_end_ = true;
    if (io_ != nullptr) asio::post(*io_, shutdown_);
  }
  void Reload() {
    const std::lock_guard lock(mutex_);
    is_asked_to_reload_ = io_ == nullptr;
    if (io_ != nullptr) asio::post(*io_, reload_);
  }
  bool is_asked_to_end() const {
    const std::lock_guard lock(mutex_);
    return is_asked_to_end_;
  }

 private:
  mutable std::mutex mutex_;
  asio::io_context* io_ = nullptr;
  std::function<void()> shutdown_;
  std::function<void()> reload_;
  bool is_asked_to_end_ = false;
  bool is_asked_to_reload_ = false;  // while no relay runs
};

template <typename AnyRelay>
using Creates = absl::StatusOr<std::unique_ptr<AnyRelay>> (*)(
    asio::any_io_executor executor, const Config& config,
    const TableExpansion& tables);

// From the loop, so that a loop that hangs is restarted by its watchdog.
asio::awaitable<void> NotifyService(ServiceNotifier& notifier,
                                    std::function<RelayStatus()> status_now) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    const RelayStatus now = status_now();
    notifier.OnStatus(StateLine(now), IsStateKnown(now));
    timer.expires_after(notifier.interval());
    co_await timer.async_wait(kAsTuple);
  }
}

// Runs one relay of either kind, from its creation to the exit code. Sets
// `tables` to those of the next one, if one is to go on.
template <typename AnyRelay>
int RunRelay(const Arguments& arguments, LiveConfig& live,
             SignalTarget& signals, ServiceNotifier& notifier,
             Creates<AnyRelay> create, std::optional<TableExpansion>& tables) {
  const TableExpansion before = *std::exchange(tables, std::nullopt);
  Config config = live.config();
  config.outbox = WithoutDropped(before.outbox);
  asio::io_context io(1);
  std::unique_ptr<AnyRelay> relay;
  Reloader reloader(
      io.get_executor(), live, notifier,
      [config = arguments.config] { return ReloadConfig(config); },
      [&relay] { relay->RenewCredentials(); });
  absl::StatusOr<std::unique_ptr<AnyRelay>> created =
      create(io.get_executor(), config, before);
  if (!created.ok()) {
    return LogFailure(
        created.status(),
        absl::IsInvalidArgument(created.status()) ? kExitUsage : kExitKafka);
  }
  relay = *std::move(created);
  RetentionService retention(io.get_executor(), config, [&relay] {
    const RelayState state = relay->Status().state;
    return state == RelayState::kStreaming ||
           state == RelayState::kCatchingUp || state == RelayState::kDegraded;
  });
  const auto status_now = [&relay, &retention] {
    RelayStatus now = relay->Status();
    now.retention = retention.Report();
    now.dropped_log_lines = ProcessLog::dropped_lines();
    now.reason = WithOwnArguments(now.reason);
    return now;
  };
  std::unique_ptr<HttpServer> http;
  if (!config.http.listen.empty()) {
    auto server = HttpServer::Create(
        io.get_executor(), config.http,
        {.version = std::string(kVersion),
         .status = status_now,
         .config = [&live] { return PrintConfig(live.config()); },
         .warnings = ProcessLog::recent_warnings});
    if (!server.ok()) return LogFailure(server.status(), kExitUsage);
    http = *std::move(server);
  }
  signals.Set(
      &io, [&relay] { relay->Shutdown(); }, [&reloader] { reloader.Reload(); });
  asio::co_spawn(io, retention.Run(), asio::detached);
  if (notifier.is_enabled()) {
    asio::co_spawn(io, NotifyService(notifier, status_now), asio::detached);
  }
  absl::Status result;
  asio::co_spawn(io, relay->Run(),
                 [&](std::exception_ptr exception, absl::Status status) {
                   if (exception) std::rethrow_exception(exception);
                   result = std::move(status);
                   io.stop();
                 });
  io.run();
  signals.Set(nullptr, nullptr, nullptr);
  if (reloader.is_loading()) signals.Reload();  // by the next relay
  if (!result.ok()) {
    return LogFailure(result, IsFromKafka(result) ? kExitKafka : kExitPostgres);
  }
  if (relay->next() != nullptr && !signals.is_asked_to_end()) {
    tables = *relay->next();
    return kExitOk;
  }
  const RelayStatus end = relay->Status();
  if (end.is_polling()) {
    LogInfo("ended; {} records acknowledged", end.counters.acknowledged);
  } else {
    LogInfo("ended; confirmed {}", end.confirmed.ToString());
  }
  return kExitOk;
}

// One relay after the other: a table that is new by its pattern begins with the
// next one.
template <typename AnyRelay>
int RunRelays(const Arguments& arguments, LiveConfig& live,
              Creates<AnyRelay> create) {
  SignalTarget target;
  ServiceNotifier notifier(ServiceNotifier::OptionsFromEnvironment());
  const SignalThread signals(
      live.config().shutdown_timeout + kEndGrace,
      [&target, &notifier] {
        notifier.OnEnd();
        target.Shutdown();
      },
      [&target] { target.Reload(); });
  std::optional<TableExpansion> tables = TableExpansion{live.config().outbox};
  int exit_code = kExitOk;
  while (tables) {
    exit_code =
        RunRelay<AnyRelay>(arguments, live, target, notifier, create, tables);
  }
  notifier.OnEnd();
  return exit_code;
}

int Run(const Arguments& arguments) {
  const absl::StatusOr<Config> config = LoadFirst(arguments);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status valid = CheckValues(*config);
  if (!valid.ok()) {
    return Fail(valid,
                absl::IsInvalidArgument(valid) ? kExitUsage : kExitKafka);
  }
  if (arguments.print_config) PrintContent(PrintConfig(*config));
  const absl::Status complete = RequireBothEnds(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  if (arguments.print_config) return kExitOk;
  std::signal(SIGPIPE, SIG_IGN);
  LiveConfig live(*config);
  if (config->source == Source::kPolling) {
    LogInfo("walpost {}: polling {} to {} at {}", kVersion,
            config->outbox.tables.size() == 1
                ? config->outbox.tables.front().name
                : "outbox tables",
            WordsOf(config->sink).name, SinkAddress(*config));
    const auto create = [](asio::any_io_executor executor, const Config& of,
                           const TableExpansion& tables) {
      return PollingRelay::Create(executor, of, tables,
                                  MakeSinks(executor, of));
    };
    return RunRelays<PollingRelay>(arguments, live, create);
  }
  LogInfo("walpost {}: {} to {} at {}", kVersion, config->postgres.slot,
          WordsOf(config->sink).name, SinkAddress(*config));
  return RunRelays<Relay>(arguments, live, Relay::Create);
}

}  // namespace

void AddRun(CLI::App& app, int& exit_code) {
  Verb verb(app, "run", "Publish committed events");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(verb);
  verb.Option("--from-lsn", arguments->from_lsn,
              "At the first start on an existing slot: begin with "
              "transactions that committed at this LSN or later");
  verb.Flag("--print-config", arguments->print_config,
            "Print the configuration in effect, without secrets, and exit");
  verb.Footer(
      "Exit codes: 0 stopped by a signal, 2 usage or configuration, 3 Postgres "
      "rejects\nthe configuration, 4 the brokers reject the configuration.");
  verb.Callback([arguments, &exit_code] { exit_code = Run(*arguments); });
}

}  // namespace walpost
