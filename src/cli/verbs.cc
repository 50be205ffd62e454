// The command line of walpost: its verbs, and what their arguments share.
#include "cli/shared/verbs.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/sink/sinks.h"
#include "base/own_arguments.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/shared/command_line.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/verb.h"
#include "config/loader.h"
#include "config/overrides.h"
#include "fmt/format.h"
#include "log/process_log.h"

namespace walpost {
namespace {

constexpr char kDefaultFile[] = "/etc/walpost/walpost.yaml";
constexpr char kFileVariable[] = "WALPOST_CONFIG";

struct ConfigFile {
  std::string path;
  std::string_view named_by;  // what LoadConfig wants to know
};

ConfigFile FileOf(const ConfigArguments& arguments) {
  if (!arguments.file.empty()) {
    return {arguments.file, "give its path with -c"};
  }
  const char* named = std::getenv(kFileVariable);
  if (named != nullptr && *named != '\0') {
    return {named, "WALPOST_CONFIG names it; -c overrides it"};
  }
  return {kDefaultFile,
          "it is the default; name another with -c or in WALPOST_CONFIG"};
}

}  // namespace

void ConfigArguments::AddTo(Verb& verb) {
  verb.Option("-c,--config", file,
              "Configuration file (YAML); else the one that WALPOST_CONFIG "
              "names, else /etc/walpost/walpost.yaml");
  verb.Option("--set", overrides,
              "Override a key, as in --set kafka.brokers=host:9092; may "
              "be given several times")
      .OneValueEachTime();
}

absl::StatusOr<Config> ConfigArguments::Read(Secrets secrets) const {
  const ConfigFile chosen = FileOf(*this);
  return LoadConfig(chosen.path, overrides, secrets, chosen.named_by);
}

absl::StatusOr<Config> ConfigArguments::Load(Secrets secrets) const {
  std::string own = "-c " + ShellWord(FileOf(*this).path);
  for (const std::string& override : overrides) {
    if (!MayHoldSecret(override)) own += " --set " + ShellWord(override);
  }
  SetOwnArguments(own);
  WALPOST_ASSIGN_OR_RETURN(Config config, Read(secrets));
  ProcessLog::Configure(config.log);
  if (config.source == Source::kWal) {
    ProcessLog::SetSlot(config.postgres.slot);
  }
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
  return RequireSink(config);
}

int RunCommandLine(int argc, const char* const* argv) {
  CLI::App app(
      "Publishes a Postgres outbox table to Kafka, NATS, RabbitMQ or Redis.",
      "walpost");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("walpost {}", kVersion),
                       "Print the version and exit");
  app.footer(
      "walpost VERB --help has the options and exit codes of a verb.\n"
      "Exit codes of all: 0 done, 1 something was found or is not complete, 2 "
      "wrong command\nline or configuration, 3 Postgres, 4 the brokers.");
  int exit_code = kExitOk;
  AddRun(app, exit_code);
  AddCheck(app, exit_code);
  AddInit(app, exit_code);
  AddStatus(app, exit_code);
  AddTail(app, exit_code);
  AddShadow(app, exit_code);
  AddVerify(app, exit_code);
  AddReplay(app, exit_code);
  AddRecover(app, exit_code);
  AddPause(app, exit_code);
  AddResume(app, exit_code);
  AddSkip(app, exit_code);
  AddDeadLetter(app, exit_code);
  AddDeadLetters(app, exit_code);
  AddParked(app, exit_code);
  AddPrune(app, exit_code);
  AddConfig(app, exit_code);
  AddWait(app, exit_code);
  AddImportDebezium(app, exit_code);
  AddVersion(app, exit_code);
  AddMan(app, exit_code);
  AddCompletion(app, exit_code);
  const int parsed = ParseCommandLine(app, argc, argv);
  return parsed == kExitOk ? exit_code : parsed;
}

}  // namespace walpost
