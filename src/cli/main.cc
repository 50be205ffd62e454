// walpost: outbox events from Postgres to Kafka.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "app/process_log.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "config/loader.h"
#include "loop/blocking_call.h"

namespace walpost {

void ConfigArguments::AddTo(CLI::App& verb) {
  verb.add_option("-c,--config", file, "Configuration file (YAML)")->required();
  verb.add_option("--set", overrides,
                  "Override a key, as in --set kafka.brokers=host:9092")
      ->take_all()
      ->expected(1)
      ->delimiter('\0');
}

absl::StatusOr<Config> ConfigArguments::Load() const {
  WALPOST_ASSIGN_OR_RETURN(Config config, LoadConfig(file, overrides));
  ProcessLog::Configure(config.log);
  return config;
}

absl::Status RequirePostgres(const Config& config) {
  if (config.postgres.server.conninfo.empty()) {
    return absl::InvalidArgumentError(
        "postgres.conninfo is missing: how to reach Postgres, as in "
        "host=127.0.0.1 dbname=shop user=walpost");
  }
  return absl::OkStatus();
}

absl::Status RequireBothEnds(const Config& config) {
  WALPOST_RETURN_IF_ERROR(RequirePostgres(config));
  if (config.kafka.brokers.empty()) {
    return absl::InvalidArgumentError(
        "kafka.brokers is missing: how to reach Kafka, as in 127.0.0.1:9092");
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app("Outbox events from Postgres to Kafka.", "walpost");
  app.require_subcommand(1);
  int exit_code = kExitOk;
  AddRecover(app, exit_code);
  AddRun(app, exit_code);
  AddCheck(app, exit_code);
  AddInit(app, exit_code);
  AddStatus(app, exit_code);
  AddReplay(app, exit_code);
  AddPrune(app, exit_code);
  AddTail(app, exit_code);
  AddVerify(app, exit_code);
  AddVersion(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}

}  // namespace walpost

int main(int argc, char** argv) {
  using std::chrono::milliseconds;
  walpost::ProcessLog log;
  const int exit_code = walpost::Main(argc, argv);
  walpost::AwaitBlockedThreads(milliseconds(500));
  const bool log_has_ended = log.Close(milliseconds(500));
  // A thread that hangs must not see the globals go.
  if (!log_has_ended || walpost::CountBlockedThreads() > 0) {
    std::fflush(stdout);
    std::_Exit(exit_code);
  }
  return exit_code;
}
