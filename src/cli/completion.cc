// walpost completion: prints a script for a shell to complete the words.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// Uses only what bash and zsh both support. After an option with a value it
// offers nothing, and the shell completes file names.
constexpr char kScript[] = R"(# walpost completion, for bash and zsh.
if [[ -n ${{ZSH_VERSION-}} ]]; then
  autoload -U +X compinit && compinit
  autoload -U +X bashcompinit && bashcompinit
fi

_walpost() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words= values=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words="{verbs} --help --version"
  else
    case ${{COMP_WORDS[1]}} in
{cases}    esac
  fi
  [[ " $values " != *" ${{COMP_WORDS[COMP_CWORD - 1]}} "* ]] || return 0
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}

complete -o default -F _walpost walpost
)";

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

// The options of one verb, and those among them that take a value.
std::string CaseOf(const CLI::App& verb) {
  std::vector<std::string> words;
  std::vector<std::string> values;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : NamesOf(*option)) {
      words.push_back(name);
      if (option->get_items_expected_max() > 0) values.push_back(name);
    }
  }
  return fmt::format(
      "      {})\n        words=\"{}\"\n        values=\"{}\"\n        ;;\n",
      verb.get_name(), absl::StrJoin(words, " "), absl::StrJoin(values, " "));
}

std::string CompletionScript(const CLI::App& app) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
    cases += CaseOf(*verb);
  }
  return fmt::format(kScript, fmt::arg("verbs", absl::StrJoin(verbs, " ")),
                     fmt::arg("cases", cases));
}

}  // namespace

void AddCompletion(CLI::App& app, int& exit_code) {
  Verb verb(app, "completion", "Print the completion script for bash and zsh");
  verb.Footer(
      "As in: source <(walpost completion), in ~/.bashrc or ~/.zshrc.\n"
      "Exit code: 0.");
  verb.Callback([&app, &exit_code] {
    PrintContent(CompletionScript(app));
    exit_code = kExitOk;
  });
}

}  // namespace walpost
