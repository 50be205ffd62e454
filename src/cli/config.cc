// walpost config: prints the reference of the configuration.
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "base/version.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/roff.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/reference.h"
#include "config/reference_keys.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr char kAbout[] =
    "walpost reads one YAML file: that of -c, else the one that WALPOST_CONFIG "
    "names, else /etc/walpost/walpost.yaml. --set KEY=VALUE overrides a key. "
    "Values may hold ${env:NAME} and ${file:PATH}. Unknown keys are errors. "
    "Durations: 200ms, 10s, 5m, 1h, 7d. Sizes: 16MiB, 512KiB, 1000000. walpost "
    "run --print-config shows the configuration in effect, without secrets.";

std::string Plain(std::string_view markdown) {
  return absl::StrReplaceAll(WithoutLinks(markdown), {{"`", ""}});
}

std::string ManualPage() {
  std::string keys;
  std::set<std::string> said;
  for (const KeyDescription& key : ReferenceKeys()) {
    const std::string path = GeneralPath(key);
    if (!said.insert(path).second) continue;
    const std::string value = ShownDefault(key);
    keys += fmt::format(
        ".TP\n.B {}\n{}\n", Roff(path),
        Roff(Plain(fmt::format("{}. Values: {}. Default: {}.", TextOf(key).text,
                               ValuesOf(key), value == "–" ? "none" : value))));
  }
  return fmt::format(
      ".TH WALPOST.YAML 5 \"\" \"walpost {}\"\n"
      ".SH NAME\nwalpost.yaml \\- configuration of walpost\n"
      ".SH DESCRIPTION\n{}\n.SH KEYS\n{}.SH EXAMPLES\n.nf\n{}.fi\n"
      ".SH SEE ALSO\n.BR walpost (1),\n"
      "/usr/share/doc/walpost/docs/configuration.md\n",
      kVersion, Roff(kAbout), keys, kExampleConfig);
}

std::string InForm(const std::string& form) {
  if (form == "sample") return SampleConfig();
  if (form == "schema") return ConfigSchema();
  if (form == "table") return ReferenceTable();
  return ManualPage();
}

}  // namespace

void AddConfig(CLI::App& app, int& exit_code) {
  Verb verb(app, "config", "Print all keys of the configuration");
  auto form = std::make_shared<std::string>();
  verb.Option("FORM", *form,
              "A file to start from, a JSON Schema for editors, a table in "
              "Markdown, or walpost.yaml(5)")
      .OneOf({"sample", "schema", "table", "manual"})
      .Required();
  verb.Footer(
      "As in: walpost config sample > walpost.yaml\n"
      "`walpost run --print-config` has the values in effect.\n"
      "Exit codes: 0 printed, 2 wrong command line.");
  verb.Callback([form, &exit_code] {
    PrintContent(InForm(*form));
    exit_code = kExitOk;
  });
}

}  // namespace walpost
