// walpost completion: prints a script for a shell to complete the words.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/own_arguments.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// In all of them: after an option with a value, file names are offered.

// Uses only what bash and zsh both support.
constexpr char kBash[] = R"(# walpost completion, for bash and zsh.
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

// A file of its own in fpath, or sourced.
constexpr char kZsh[] = R"(#compdef walpost
_walpost() {{
  local -a verbs=({verbs})
  if ((CURRENT == 2)); then
    _describe -t verbs verb verbs
    return
  fi
  local -a actions=() options=() values=()
  case ${{words[2]}} in
{cases}  esac
  if ((${{values[(Ie)${{words[CURRENT - 1]}}]}})); then
    _files
    return
  fi
  if ((${{#actions}})); then _describe -t actions action actions; fi
  _describe -t options -o option options
}}

if [[ ${{funcstack[1]}} == _walpost ]]; then
  _walpost "$@"
else
  autoload -U +X compinit && compinit
  compdef _walpost walpost
fi
)";

constexpr char kFish[] = R"(# walpost completion, for fish.
complete -c walpost -n __fish_use_subcommand -f
{cases})";

struct OptionWords {
  std::vector<std::string> names;  // "-c", "--config"
  std::string description;
  bool takes_value = false;
};

struct VerbWords {
  std::string name;
  std::string description;
  std::vector<std::string> actions;
  std::vector<OptionWords> options;
};

std::string FirstSentence(const std::string& text) {
  return text.substr(0, text.find(';'));
}

VerbWords WordsOf(const CLI::App& verb) {
  VerbWords words{verb.get_name(), verb.get_description(), {}, {}};
  for (const CLI::Option* option : verb.get_options()) {
    OptionWords found{{},
                      FirstSentence(option->get_description()),
                      option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_snames()) {
      found.names.push_back("-" + name);
    }
    for (const std::string& name : option->get_lnames()) {
      found.names.push_back("--" + name);
    }
    if (!found.names.empty()) {
      words.options.push_back(std::move(found));
    } else if (absl::StrContains(option->get_type_name(), '|')) {
      // See VerbOption::OneOf.
      words.actions = absl::StrSplit(option->get_type_name(), '|');
    }
  }
  return words;
}

std::vector<std::string> NamesOf(const VerbWords& verb, bool only_with_value) {
  std::vector<std::string> names;
  for (const OptionWords& option : verb.options) {
    if (only_with_value && !option.takes_value) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string BashCase(const VerbWords& verb) {
  std::vector<std::string> words = verb.actions;
  for (const std::string& name : NamesOf(verb, false)) words.push_back(name);
  return fmt::format(
      "      {})\n        words=\"{}\"\n        values=\"{}\"\n        ;;\n",
      verb.name, absl::StrJoin(words, " "),
      absl::StrJoin(NamesOf(verb, true), " "));
}

std::string ZshCase(const VerbWords& verb) {
  std::string options;
  for (const OptionWords& option : verb.options) {
    for (const std::string& name : option.names) {
      options += " " + ShellWord(name + ":" + option.description);
    }
  }
  return fmt::format(
      "    {})\n      actions=({})\n      options=({})\n      values=({})\n"
      "      ;;\n",
      verb.name, absl::StrJoin(verb.actions, " "), options,
      absl::StrJoin(NamesOf(verb, true), " "));
}

std::string FishLines(const VerbWords& verb) {
  std::string lines =
      fmt::format("complete -c walpost -n __fish_use_subcommand -a {} -d {}\n",
                  verb.name, ShellWord(verb.description));
  const std::string seen = "__fish_seen_subcommand_from " + verb.name;
  if (!verb.actions.empty()) {
    const std::string actions = absl::StrJoin(verb.actions, " ");
    lines += fmt::format(
        "complete -c walpost -n '{}; and not __fish_seen_subcommand_from {}' "
        "-f -a '{}'\n",
        seen, actions, actions);
  }
  for (const OptionWords& option : verb.options) {
    lines += fmt::format("complete -c walpost -n '{}'", seen);
    for (const std::string& name : option.names) {
      lines += name.starts_with("--") ? " -l " + name.substr(2)
                                      : " -s " + name.substr(1);
    }
    lines += fmt::format(" {}-d {}\n", option.takes_value ? "-r " : "",
                         ShellWord(option.description));
  }
  return lines;
}

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    const VerbWords words = WordsOf(*verb);
    if (shell == "fish") {
      cases += FishLines(words);
    } else if (shell == "zsh") {
      verbs.push_back(ShellWord(words.name + ":" + words.description));
      cases += ZshCase(words);
    } else {
      verbs.push_back(words.name);
      cases += BashCase(words);
    }
  }
  if (shell == "fish") return fmt::format(kFish, fmt::arg("cases", cases));
  return fmt::format(fmt::runtime(shell == "zsh" ? kZsh : kBash),
                     fmt::arg("verbs", absl::StrJoin(verbs, " ")),
                     fmt::arg("cases", cases));
}

}  // namespace

void AddCompletion(CLI::App& app, int& exit_code) {
  Verb verb(app, "completion", "Print the completion script for a shell");
  const auto shell = std::make_shared<std::string>("bash");
  verb.Option("SHELL", *shell, "Shell of the script")
      .OneOf({"bash", "zsh", "fish"})
      .ShowDefault();
  verb.Footer(
      "As in: source <(walpost completion bash), in ~/.bashrc; zsh in "
      "~/.zshrc; "
      "walpost\ncompletion fish | source, in ~/.config/fish/config.fish.\n"
      "Exit code: 0.");
  verb.Callback([&app, shell, &exit_code] {
    PrintContent(CompletionScript(app, *shell));
    exit_code = kExitOk;
  });
}

}  // namespace walpost
