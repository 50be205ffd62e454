#include "cli/shared/command_line.h"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "base/nearest_word.h"
#include "cli/shared/exit_code.h"
#include "fmt/format.h"

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

}  // namespace

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

}  // namespace walpost
