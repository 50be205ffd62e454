// walpost run: publish until told to end.
#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>

#include "admin/http_server.h"
#include "app/polling_relay.h"
#include "app/relay.h"
#include "app/retention_keeper.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/exit_code.h"
#include "cli/lsn_option.h"
#include "cli/verbs.h"
#include "config/printer.h"
#include "fmt/format.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

void SetUpLog(LogLevel level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("walpost"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                      spdlog::pattern_time_type::utc);
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::set_level(spdlog::level::debug);
    case LogLevel::kInfo:
      return spdlog::set_level(spdlog::level::info);
    case LogLevel::kWarn:
      return spdlog::set_level(spdlog::level::warn);
    case LogLevel::kError:
      return spdlog::set_level(spdlog::level::err);
  }
}

// After shutdown_timeout, for the last words to both ends.
constexpr std::chrono::seconds kEndGrace{3};

// The first signal asks for a clean end, the second ends at once; so does the
// first when the end does not come in time, because something that cannot be
// interrupted waits for a server. Nothing is lost by it: what is not confirmed
// comes again.
class SignalHandler {
 public:
  SignalHandler(asio::io_context& io, std::chrono::milliseconds timeout,
                std::function<void()> shutdown)
      : signals_(io, SIGINT, SIGTERM),
        last_resort_(io),
        timeout_(timeout + kEndGrace),
        shutdown_(std::move(shutdown)) {
    Wait();
  }

  void Cancel() { signals_.cancel(); }

 private:
  void Wait() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      if (asked_) std::_Exit(128 + signal);
      asked_ = true;
      last_resort_.expires_after(timeout_);
      last_resort_.async_wait([this](boost::system::error_code stopped) {
        if (stopped) return;
        spdlog::warn("it takes longer than {} ms to end: leaving at once",
                     timeout_.count());
        std::_Exit(kExitOk);
      });
      shutdown_();
      Wait();
    });
  }

  asio::signal_set signals_;
  asio::steady_timer last_resort_;
  std::chrono::milliseconds timeout_;
  std::function<void()> shutdown_;
  bool asked_ = false;
};

struct Arguments {
  ConfigArguments config;
  std::string from_lsn;
  bool print_config = false;
};

absl::StatusOr<Config> LoadConfig(const Arguments& arguments) {
  WALPOST_ASSIGN_OR_RETURN(Config config, arguments.config.Load());
  WALPOST_ASSIGN_OR_RETURN(config.postgres.from_lsn,
                           ParseLsnOption("--from-lsn", arguments.from_lsn));
  return config;
}

// Either kind of relay, from its making to the exit code.
template <typename AnyRelay>
int RunRelay(const Config& config) {
  asio::io_context io(1);
  auto relay = AnyRelay::Create(io.get_executor(), config);
  if (!relay.ok()) {
    return Fail(relay.status(), absl::IsInvalidArgument(relay.status())
                                    ? kExitUsage
                                    : kExitKafka);
  }
  SignalHandler signals(io, config.shutdown_timeout,
                        [&relay] { (*relay)->Shutdown(); });
  RetentionKeeper retention(io.get_executor(), config, [&relay] {
    const RelayState state = (*relay)->Status().state;
    return state == RelayState::kStreaming || state == RelayState::kCatchingUp;
  });
  const auto status_now = [&relay, &retention] {
    RelayStatus now = (*relay)->Status();
    now.retention = retention.Report();
    return now;
  };
  std::unique_ptr<HttpServer> http;
  if (!config.http.listen.empty()) {
    auto created = HttpServer::Create(io.get_executor(), config.http,
                                      std::string(kVersion), status_now);
    if (!created.ok()) return Fail(created.status(), kExitUsage);
    http = *std::move(created);
  }
  asio::co_spawn(io, retention.Run(), asio::detached);
  absl::Status result;
  asio::co_spawn(io, (*relay)->Run(),
                 [&](std::exception_ptr exception, absl::Status status) {
                   if (exception) std::rethrow_exception(exception);
                   result = std::move(status);
                   signals.Cancel();
                   io.stop();
                 });
  io.run();
  if (!result.ok()) return Fail(result, kExitPostgres);
  const RelayStatus end = (*relay)->Status();
  if (end.is_polling()) {
    spdlog::info("ended; {} records acknowledged", end.counters.acknowledged);
  } else {
    spdlog::info("ended; confirmed {}", end.confirmed.ToString());
  }
  return kExitOk;
}

int Run(const Arguments& arguments) {
  const absl::StatusOr<Config> config = LoadConfig(arguments);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  if (arguments.print_config) {
    fmt::print("{}", PrintConfig(*config));
    return kExitOk;
  }
  const absl::Status complete = RequireBothEnds(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  SetUpLog(config->log_level);
  std::signal(SIGPIPE, SIG_IGN);
  if (config->source == Source::kPolling) {
    spdlog::info("walpost {}: polling {} to Kafka at {}", kVersion,
                 config->outbox.tables.size() == 1
                     ? config->outbox.tables.front().name
                     : "outbox tables",
                 config->kafka.brokers);
    return RunRelay<PollingRelay>(*config);
  }
  spdlog::info("walpost {}: {} to Kafka at {}", kVersion, config->postgres.slot,
               config->kafka.brokers);
  return RunRelay<Relay>(*config);
}

}  // namespace

void AddRun(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("run", "Publish committed events");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(*verb);
  verb->add_option("--from-lsn", arguments->from_lsn,
                   "At the first start on a slot that is there already: begin "
                   "with what committed at this LSN or later");
  verb->add_flag("--print-config", arguments->print_config,
                 "Print the configuration in effect, without secrets, and end");
  verb->callback([arguments, &exit_code] { exit_code = Run(*arguments); });
}

}  // namespace walpost
