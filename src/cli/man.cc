// walpost man: prints the manual page, from the same source as --help.
#include <CLI/CLI.hpp>
#include <set>
#include <string>

#include "absl/strings/str_join.h"
#include "base/version.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/roff.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string Names(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;  // sorted
  for (const CLI::Option* option : options) names.insert(option->get_name());
  return absl::StrJoin(names, ", ");
}

std::string OptionEntry(const CLI::Option& option) {
  // "-c,--config", as in --help.
  std::string entry =
      fmt::format(".TP\n.B {}", Roff(option.get_name(false, true)));
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) {
    entry += fmt::format(" {}", Roff(option.get_type_name()));
  }
  entry += fmt::format("\n{}", Roff(option.get_description()));
  if (!option.get_default_str().empty()) {
    entry += Roff(fmt::format(" ({})", option.get_default_str()));
  }
  if (!entry.ends_with('.')) entry += '.';
  if (option.get_required()) entry += " Required.";
  if (!option.get_needs().empty()) {
    entry += Roff(fmt::format(" With {}.", Names(option.get_needs())));
  }
  if (!option.get_excludes().empty()) {
    entry += Roff(fmt::format(" Not with {}.", Names(option.get_excludes())));
  }
  return entry + "\n";
}

std::string OptionEntries(const CLI::App& app) {
  std::string entries;
  for (const CLI::Option* option : app.get_options()) {
    // Every verb has it: print it once.
    const bool is_said = option == app.get_help_ptr() && app.get_parent();
    if (!is_said) entries += OptionEntry(*option);
  }
  return entries;
}

std::string VerbSection(const CLI::App& verb) {
  return fmt::format(".SS walpost {}\n{}.\n{}.PP\n{}\n", Roff(verb.get_name()),
                     Roff(verb.get_description()), OptionEntries(verb),
                     Roff(verb.get_footer()));
}

std::string ManualPage(const CLI::App& app) {
  std::string verbs;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs += VerbSection(*verb);
  }
  std::string about = app.get_description();
  if (about.ends_with('.')) about.pop_back();
  return fmt::format(
      ".TH WALPOST 1 \"\" \"walpost {}\"\n"
      ".SH NAME\nwalpost \\- {}\n"
      ".SH SYNOPSIS\n.B walpost\n.I verb\n.RI [ options ]\n"
      ".SH OPTIONS\n{}.PP\n{}\n"
      ".SH VERBS\n{}"
      ".SH EXAMPLES\n"
      ".TP\n.B sudo \\-u postgres walpost init \\-\\-admin dbname=shop\n"
      "Make publication and slot, and give the role its rights.\n"
      ".TP\n.B walpost check\n"
      "Test the connections, rights and settings, and print fixes.\n"
      ".TP\n.B systemctl enable \\-\\-now walpost\n"
      "Publish, from now on and after each boot.\n"
      ".TP\n.B walpost status\n"
      "Show the state; exit code 0 if it is ready.\n"
      ".TP\n.B walpost verify \\-c /etc/walpost/shop.yaml\n"
      "Compare the outbox of another database with what was published.\n"
      ".SH SIGNALS\n"
      ".TP\n.B SIGTERM, SIGINT\n"
      "Stop: wait for acknowledgements of records in flight, confirm them to "
      "Postgres, exit.\n"
      ".TP\n.B SIGHUP\n"
      "Read the configuration file and the secrets again (run).\n"
      ".SH ENVIRONMENT\n"
      ".TP\n.B WALPOST_CONFIG\n"
      "The configuration file if there is no \\-c.\n"
      ".TP\n.B TMPDIR\n"
      "Folder for data of verify and recover that does not fit in memory.\n"
      ".TP\n.B USER\n"
      "Name for the record of a decision if there is no \\-\\-by.\n"
      ".TP\n.B NOTIFY_SOCKET, WATCHDOG_USEC\n"
      "From systemd: run tells it when the state is known, what the state is, "
      "that its loop turns, and when it reloads or ends.\n"
      ".SH FILES\n"
      ".TP\n.I /etc/walpost/walpost.yaml\n"
      "The configuration of walpost.service, and that of all verbs without "
      "\\-c and WALPOST_CONFIG: see\n.BR walpost.yaml (5).\n"
      ".TP\n.I /etc/walpost/NAME.yaml\n"
      "The configuration of walpost@NAME.service.\n"
      ".TP\n.I /var/lib/walpost\n"
      "The work folder of the services; a relative checkpoint.path begins "
      "there.\n"
      ".SH SEE ALSO\n.BR walpost.yaml (5),\n.BR systemctl (1)\n",
      kVersion, Roff(about), OptionEntries(app), Roff(app.get_footer()), verbs);
}

}  // namespace

void AddMan(CLI::App& app, int& exit_code) {
  Verb verb(app, "man", "Print the manual page");
  verb.Footer("As in: walpost man | man -l -\nExit code: 0.");
  verb.Callback([&app, &exit_code] {
    PrintContent(ManualPage(app));
    exit_code = kExitOk;
  });
}

}  // namespace walpost
