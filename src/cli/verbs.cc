// The command line of walpost: its verbs, and what their arguments share.
#include "cli/shared/verbs.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "app/sink/sinks.h"
#include "base/nearest_word.h"
#include "base/own_arguments.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/verb.h"
#include "config/loader.h"
#include "config/overrides.h"
#include "fmt/format.h"
#include "log/process_log.h"

namespace walpost {
namespace {

std::vector<std::string> VerbsOf(const CLI::App& app) {
  std::vector<std::string> verbs;
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* verb : app.get_subcommands(all)) {
    verbs.push_back(verb->get_name());
  }
  return verbs;
}

// Checks the first word: a verb, or an option of walpost itself.
absl::Status CheckVerb(const CLI::App& app, int argc, const char* const* argv) {
  const std::vector<std::string> verbs = VerbsOf(app);
  const std::string list = absl::StrJoin(verbs, ", ");
  if (argc < 2) {
    return absl::InvalidArgumentError(
        fmt::format("which verb? One of {}; see walpost --help", list));
  }
  const std::string word = argv[1];
  for (const char* own : {"-h", "--help", "--version"}) {
    if (word == own) return absl::OkStatus();
  }
  if (word.starts_with('-')) {
    return absl::InvalidArgumentError(
        fmt::format("{}: options come after the verb, as in walpost run -c "
                    "walpost.yaml; see walpost --help",
                    word));
  }
  for (const std::string& verb : verbs) {
    if (word == verb) return absl::OkStatus();
  }
  const std::string nearest = NearestWord(word, verbs);
  if (!nearest.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not a verb; did you mean {}? See walpost --help",
                    word, nearest));
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a verb; it is one of {}; see walpost --help", word, list));
}

std::string HelpOf(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  if (parsed.empty()) return "see walpost --help";
  return fmt::format("see walpost {} --help", parsed.front()->get_name());
}

// Parses the line, and thereby runs the verb. Returns kExitOk if a verb ran or
// help was printed, else kExitUsage: then one line on stderr has named the
// wrong word and the help to read.
int ParseCommandLine(CLI::App& app, int argc, const char* const* argv) {
  const absl::Status verb = CheckVerb(app, argc, argv);
  if (!verb.ok()) return Fail(verb, kExitUsage);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports --help and --version as errors, too.
    if (error.get_exit_code() == 0) return app.exit(error);
    return Fail(absl::InvalidArgumentError(
                    fmt::format("{}; {}", error.what(), HelpOf(app))),
                kExitUsage);
  }
  return kExitOk;
}

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
