// walpost config: prints the reference of the configuration.
#include <memory>
#include <string>

#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/reference.h"
#include "fmt/format.h"

namespace walpost {
namespace {

int RunConfig(const std::string& form) {
  if (form == "sample") {
    PrintContent(SampleConfig());
  } else if (form == "schema") {
    PrintContent(ConfigSchema());
  } else if (form == "table") {
    PrintContent(ReferenceTable());
  } else {
    return Fail(absl::InvalidArgumentError(fmt::format(
                    "'{}' is not one of sample, schema, table", form)),
                kExitUsage);
  }
  return kExitOk;
}

}  // namespace

void AddConfig(CLI::App& app, int& exit_code) {
  Verb verb(app, "config", "Print all keys of the configuration");
  auto form = std::make_shared<std::string>();
  verb.Option(
          "FORM", *form,
          "sample: a file to start from; schema: a JSON Schema for editors; "
          "table: Markdown")
      .Required();
  verb.Footer(
      "As in: walpost config sample > walpost.yaml\n"
      "`walpost run --print-config` has the values in effect.\n"
      "Exit codes: 0 printed, 2 wrong command line.");
  verb.Callback([form, &exit_code] { exit_code = RunConfig(*form); });
}

}  // namespace walpost
