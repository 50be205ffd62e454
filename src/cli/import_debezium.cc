// walpost import-debezium: a configuration from that of a Debezium connector.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/status_macros.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/read_file.h"
#include "fmt/format.h"
#include "import/connector_file.h"
#include "import/connector_offsets.h"
#include "import/debezium_import.h"
#include "import/secret_references.h"

namespace walpost {
namespace {

struct ImportArguments {
  std::string file;
  std::string worker;
  std::string offsets;
  std::string output;
  bool is_partial = false;
  ImportOptions options;
};

absl::Status About(std::string_view file, const absl::Status& status) {
  return absl::Status(
      status.code(),
      fmt::format("{}: {}", file, std::string(status.message())));
}

absl::StatusOr<std::string> ContentOf(const std::string& path) {
  auto content = ReadFile(path);
  if (!content.ok()) return About(path, content.status());
  return content;
}

absl::StatusOr<ImportResult> Translate(const ImportArguments& arguments) {
  WALPOST_ASSIGN_OR_RETURN(const std::string text, ContentOf(arguments.file));
  auto connector = ReadConnectorFile(text);
  if (!connector.ok()) return About(arguments.file, connector.status());
  Settings worker;
  ImportOptions options = arguments.options;
  options.has_worker = !arguments.worker.empty();
  if (options.has_worker) {
    if (connector->is_server) {
      return absl::InvalidArgumentError(
          "--worker: Debezium Server has no worker; its file has everything");
    }
    WALPOST_ASSIGN_OR_RETURN(const std::string its,
                             ContentOf(arguments.worker));
    auto settings = ReadWorkerFile(its);
    if (!settings.ok()) return About(arguments.worker, settings.status());
    worker = *std::move(settings);
  }
  options.file = arguments.file.substr(arguments.file.rfind('/') + 1);
  auto result =
      ImportConnector(*std::move(connector), std::move(worker), options);
  if (!result.ok()) return About(arguments.file, result.status());
  return result;
}

void PrintNotes(const ImportReport& report, ImportNote::Kind kind,
                std::string_view heading) {
  if (!report.has(kind)) return;
  Print(stderr, "{}\n", heading);
  for (const ImportNote& note : report.notes()) {
    if (note.kind != kind) continue;
    Print(stderr, "  {}: {}\n", note.key, note.text);
  }
}

// The file may have been edited since it was made.
absl::Status RequireNew(const std::string& path, const std::string& yaml) {
  const auto before = ReadFile(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error) ||
      (before.ok() && *before == yaml)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("--output {}: it exists, and may have been edited: give "
                  "another name, or remove it",
                  path));
}

absl::Status WriteTo(const std::string& path, const std::string& yaml) {
  std::ofstream file(path);
  file << yaml;
  file.close();
  if (file) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("--output {}: it cannot be written", path));
}

// The position of another connector would pass over events.
absl::Status RequireSameConnector(const ImportArguments& arguments,
                                  const ConnectorOffset& offset) {
  WALPOST_ASSIGN_OR_RETURN(const std::string text, ContentOf(arguments.file));
  const auto connector = ReadConnectorFile(text);
  if (!connector.ok()) return About(arguments.file, connector.status());
  const std::string server = TopicPrefixOf(*connector);
  if (offset.server.empty() || SecretReferences::HasReference(server)) {
    Print(
        "Compare first: the offset is of {}, and {} is the connector with "
        "topic.prefix {}.\n",
        offset.server.empty() ? "a connector that it does not name"
                              : offset.server,
        arguments.file, server);
    return absl::OkStatus();
  }
  if (offset.server == server) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: the offset is of the connector with topic.prefix '{}', and {} is "
      "that of '{}': events between the two would be passed over; give the "
      "offset of this connector",
      arguments.offsets, offset.server, arguments.file, server));
}

// Where to begin, from the offset that the connector has stored.
absl::Status PrintPosition(const ImportArguments& arguments) {
  WALPOST_ASSIGN_OR_RETURN(const std::string text,
                           ContentOf(arguments.offsets));
  const auto offset = ReadConnectorOffset(text);
  if (!offset.ok()) return About(arguments.offsets, offset.status());
  WALPOST_RETURN_IF_ERROR(RequireSameConnector(arguments, *offset));
  const bool is_whole = offset->name == "lsn_commit";
  Print(
      "Position ({}): start with\n"
      "  walpost run -c walpost.yaml --from-lsn {}\n"
      "  {}\n",
      offset->name, offset->lsn.ToString(),
      is_whole ? "Transactions before it are in Kafka. The one that commits "
                 "there is sent again: the offset does not say whether all "
                 "of its events were sent."
               : "The offset has no lsn_commit: events of transactions that "
                 "were open there are sent again.");
  return absl::OkStatus();
}

int RunImport(const ImportArguments& arguments) {
  if (!arguments.offsets.empty()) {
    const absl::Status status = PrintPosition(arguments);
    return status.ok() ? kExitOk : Fail(status, kExitUsage);
  }
  const auto result = Translate(arguments);
  if (!result.ok()) return Fail(result.status(), kExitUsage);
  if (!arguments.output.empty()) {
    const absl::Status status = RequireNew(arguments.output, result->yaml);
    if (!status.ok()) return Fail(status, kExitUsage);
  }
  const ImportReport& report = result->report;
  using Kind = ImportNote::Kind;
  PrintNotes(report, Kind::kRefused, "Cannot be carried over:");
  PrintNotes(report, Kind::kOpen, "Not carried over, and to be decided:");
  PrintNotes(report, Kind::kRemark, "To do, and what is different:");
  const bool is_refused = report.has(Kind::kRefused);
  if (is_refused && !arguments.is_partial) {
    Print(
        stderr,
        "No configuration was written. Change the settings above in a copy "
        "of the file, or give --partial to write what can be carried over.\n");
    return kExitFindings;
  }
  if (arguments.output.empty()) {
    PrintContent(result->yaml);
  } else if (const absl::Status status =
                 WriteTo(arguments.output, result->yaml);
             !status.ok()) {
    return Fail(status, kExitUsage);
  }
  return is_refused || report.has(Kind::kOpen) ? kExitFindings : kExitOk;
}

}  // namespace

void AddImportDebezium(CLI::App& app, int& exit_code) {
  Verb verb(app, "import-debezium",
            "Make a configuration from that of a Debezium connector");
  const auto arguments = std::make_shared<ImportArguments>();
  verb.Option(
          "FILE", arguments->file,
          "Configuration of the connector: JSON as Connect's REST shows it, "
          "Strimzi's KafkaConnector, properties of a connector, or of "
          "Debezium Server")
      .Required();
  verb.Option("--worker", arguments->worker,
              "Properties of the Connect worker: its converters and producer.* "
              "apply where the connector has none");
  verb.Option("--table", arguments->options.tables,
              "An outbox table (schema.table), instead of table.include.list; "
              "may be given several times")
      .OneValueEachTime();
  verb.Option("--brokers", arguments->options.brokers,
              "Bootstrap servers of Kafka; else those of --worker");
  verb.Option("--debezium-version", arguments->options.version,
              "Release of Debezium, such as 2.7: records of 3.2 and 3.4 have "
              "more headers; else the newest");
  verb.Option("--offsets", arguments->offsets,
              "The connector's stored offset, as GET /connectors/NAME/offsets "
              "shows it: print from where to run, and no configuration")
      .Excludes(verb.Option(
          "-o,--output", arguments->output,
          "Write the configuration to this file; else to standard output"));
  verb.Flag("--partial", arguments->is_partial,
            "Write a configuration also if settings cannot be carried over; "
            "its comments name them");
  verb.Footer(
      "Each setting is carried over, noted as not needed, or refused by name. "
      "Secrets\nare not repeated: they become ${env:NAME}. See "
      "docs/from-debezium.md.\n"
      "Exit codes: 0 written, 1 something cannot be carried over or must be "
      "decided,\n2 the file cannot be read or is not such a connector.");
  verb.Callback([arguments, &exit_code] { exit_code = RunImport(*arguments); });
}

}  // namespace walpost
