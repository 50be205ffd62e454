// walpost run: publishes until asked to stop.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <csignal>
#include <memory>

#include "admin/http_server.h"
#include "admin/listen_address.h"
#include "app/live/relay.h"
#include "app/polling/polling_relay.h"
#include "app/process/process_log.h"
#include "app/process/retention_service.h"
#include "app/process/signal_thread.h"
#include "base/error_source.h"
#include "base/own_arguments.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/lsn_option.h"
#include "cli/shared/output.h"
#include "cli/shared/reloader.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/loader.h"
#include "config/printer.h"
#include "fmt/format.h"
#include "kafka/producer/kafka_sinks.h"
#include "kafka/producer/producer_properties.h"
#include "outbox/route.h"
#include "spdlog/spdlog.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

// After shutdown_timeout, time for the last messages to both ends.
constexpr std::chrono::seconds kEndGrace{3};

// Uses the log, because stderr may be a pipe that nobody reads.
int LogFailure(const absl::Status& status, ExitCode code) {
  spdlog::error("{}", std::string(status.message()));
  return code;
}

struct Arguments {
  ConfigArguments config;
  std::string from_lsn;
  bool print_config = false;
};

absl::StatusOr<Config> LoadFirst(const Arguments& arguments) {
  WALPOST_ASSIGN_OR_RETURN(Config config, arguments.config.Load());
  WALPOST_ASSIGN_OR_RETURN(config.postgres.from_lsn,
                           ParseLsnOption("--from-lsn", arguments.from_lsn));
  if (config.postgres.from_lsn.is_valid()) {
    WALPOST_RETURN_IF_ERROR(RequireWalSource(
        config, "--from-lsn", "leave it out, the rows say what is pending"));
  }
  return config;
}

// For SIGHUP: only reads.
absl::StatusOr<Config> ReloadConfig(const ConfigArguments& arguments) {
  WALPOST_ASSIGN_OR_RETURN(
      Config config, walpost::LoadConfig(arguments.file, arguments.overrides));
  WALPOST_RETURN_IF_ERROR(RequireBothEnds(config));
  return config;
}

template <typename AnyRelay>
using Creates = absl::StatusOr<std::unique_ptr<AnyRelay>> (*)(
    asio::any_io_executor executor, const Config& config);

// Runs either kind of relay, from its creation to the exit code.
template <typename AnyRelay>
int RunRelay(const Arguments& arguments, LiveConfig& live,
             Creates<AnyRelay> create) {
  const Config& config = live.config();
  asio::io_context io(1);
  std::unique_ptr<AnyRelay> relay;
  Reloader reloader(
      io.get_executor(), live,
      [config = arguments.config] { return ReloadConfig(config); },
      [&relay] { relay->RenewCredentials(); });
  SignalThread signals(
      config.shutdown_timeout + kEndGrace,
      [&io, &relay] { asio::post(io, [&relay] { relay->Shutdown(); }); },
      [&io, &reloader] { asio::post(io, [&reloader] { reloader.Reload(); }); });
  absl::StatusOr<std::unique_ptr<AnyRelay>> created =
      create(io.get_executor(), config);
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
    auto server = HttpServer::Create(io.get_executor(), config.http,
                                     std::string(kVersion), status_now);
    if (!server.ok()) return LogFailure(server.status(), kExitUsage);
    http = *std::move(server);
  }
  asio::co_spawn(io, retention.Run(), asio::detached);
  absl::Status result;
  asio::co_spawn(io, relay->Run(),
                 [&](std::exception_ptr exception, absl::Status status) {
                   if (exception) std::rethrow_exception(exception);
                   result = std::move(status);
                   io.stop();
                 });
  io.run();
  if (!result.ok()) {
    return LogFailure(result, IsFromKafka(result) ? kExitKafka : kExitPostgres);
  }
  const RelayStatus end = relay->Status();
  if (end.is_polling()) {
    spdlog::info("ended; {} records acknowledged", end.counters.acknowledged);
  } else {
    spdlog::info("ended; confirmed {}", end.confirmed.ToString());
  }
  return kExitOk;
}

// Values that only their room can judge, as `check` does.
absl::Status CheckValues(const Config& config) {
  if (!config.http.listen.empty()) {
    WALPOST_RETURN_IF_ERROR(ParseListenAddress(config.http.listen).status());
  }
  WALPOST_RETURN_IF_ERROR(Route::CreateAll(config.outbox).status());
  return MakeProducerConf(config.kafka).status();
}

int Run(const Arguments& arguments) {
  const absl::StatusOr<Config> config = LoadFirst(arguments);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status valid = CheckValues(*config);
  if (!valid.ok()) {
    return Fail(valid,
                absl::IsInvalidArgument(valid) ? kExitUsage : kExitKafka);
  }
  if (arguments.print_config) {
    PrintContent(PrintConfig(*config));
    return kExitOk;
  }
  const absl::Status complete = RequireBothEnds(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  std::signal(SIGPIPE, SIG_IGN);
  LiveConfig live(*config);
  if (config->source == Source::kPolling) {
    spdlog::info("walpost {}: polling {} to Kafka at {}", kVersion,
                 config->outbox.tables.size() == 1
                     ? config->outbox.tables.front().name
                     : "outbox tables",
                 config->kafka.brokers);
    const auto create = [](asio::any_io_executor executor, const Config& of) {
      return PollingRelay::Create(executor, of, KafkaSinks(executor, of.kafka));
    };
    return RunRelay<PollingRelay>(arguments, live, create);
  }
  spdlog::info("walpost {}: {} to Kafka at {}", kVersion, config->postgres.slot,
               config->kafka.brokers);
  return RunRelay<Relay>(arguments, live, Relay::Create);
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
      "rejects\nthe configuration, 4 Kafka rejects the configuration.");
  verb.Callback([arguments, &exit_code] { exit_code = Run(*arguments); });
}

}  // namespace walpost
