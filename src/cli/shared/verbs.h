// The verbs. Each adds itself to the command line and sets its exit code.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "config/secrets.h"

namespace CLI {
class App;
}

namespace walpost {

class Verb;

// -c FILE and --set, the options of most verbs. Without -c the file is the one
// that WALPOST_CONFIG names, else /etc/walpost/walpost.yaml.
struct ConfigArguments {
  std::string file;  // empty: not given
  std::vector<std::string> overrides;

  void AddTo(Verb& verb);
  // Only reads.
  absl::StatusOr<Config> Read(Secrets secrets = Secrets::kNeeded) const;
  // From then on the process logs as configured.
  absl::StatusOr<Config> Load(Secrets secrets = Secrets::kNeeded) const;
};

// kInvalidArgument: postgres.conninfo is missing.
absl::Status RequirePostgres(const Config& config);
// kInvalidArgument: the key of one end is missing (see also RequireSink).
absl::Status RequireBothEnds(const Config& config);

// Parses the line and runs its verb. Returns the exit code.
int RunCommandLine(int argc, const char* const* argv);

void AddRecover(CLI::App& app, int& exit_code);
void AddRun(CLI::App& app, int& exit_code);
void AddCheck(CLI::App& app, int& exit_code);
void AddConfig(CLI::App& app, int& exit_code);
void AddInit(CLI::App& app, int& exit_code);
void AddPause(CLI::App& app, int& exit_code);
void AddResume(CLI::App& app, int& exit_code);
void AddPrune(CLI::App& app, int& exit_code);
void AddReplay(CLI::App& app, int& exit_code);
void AddSkip(CLI::App& app, int& exit_code);
void AddDeadLetter(CLI::App& app, int& exit_code);
void AddDeadLetters(CLI::App& app, int& exit_code);
void AddParked(CLI::App& app, int& exit_code);
void AddStatus(CLI::App& app, int& exit_code);
void AddTail(CLI::App& app, int& exit_code);
void AddShadow(CLI::App& app, int& exit_code);
void AddVerify(CLI::App& app, int& exit_code);
void AddImportDebezium(CLI::App& app, int& exit_code);
void AddVersion(CLI::App& app, int& exit_code);
void AddWait(CLI::App& app, int& exit_code);
void AddMan(CLI::App& app, int& exit_code);
void AddCompletion(CLI::App& app, int& exit_code);

}  // namespace walpost
