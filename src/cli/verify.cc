// walpost verify: compares the outbox with the records of the brokers.
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "absl/strings/str_join.h"
#include "app/sink/sinks.h"
#include "app/sink/topic_reader_options.h"
#include "base/status_macros.h"
#include "cli/shared/complete_conninfo.h"
#include "cli/shared/confirmed_by.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/progress_line.h"
#include "cli/shared/slot_inspection.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "cli/shared/work_directory.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "verify/verifier.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

constexpr uint64_t kMaxWaitSeconds = uint64_t{24} * 3600;

struct Arguments {
  ConfigArguments config;
  std::string table;
  std::string sequence;
  std::string ids;
  std::vector<std::string> topics;
  int wait_seconds = 10;
  std::string work_directory;
  std::string report_file;
  bool json_equal = false;
  bool fail_on_not_in_table = false;
  bool fail_on_duplicates = false;
  bool read_committed = false;
  bool read_uncommitted = false;
  bool json = false;
};

absl::Status KeepTable(const std::string& table, OutboxOptions& outbox) {
  if (table.empty()) return absl::OkStatus();
  const std::string name =
      table.find('.') == std::string::npos ? "public." + table : table;
  std::vector<std::string> configured_names;
  for (const TableOptions& configured : outbox.tables) {
    configured_names.push_back(configured.name);
  }
  std::erase_if(outbox.tables, [&](const TableOptions& configured) {
    return configured.name != name;
  });
  if (!outbox.tables.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("--table {}: is not in outbox.tables ({})", table,
                  absl::StrJoin(configured_names, ", ")));
}

// Events lost in a gap may have left no row. While the slot is in use, walpost
// checks for gaps, and only recorded gaps count.
absl::Status LookForGap(const Config& config, VerifierOptions& options) {
  asio::io_context io(1);
  const absl::StatusOr<SlotInspection> inspection = RunToEnd(
      io, InspectSlot(io.get_executor(), config, {}, InspectPending::kNo));
  if (!inspection.ok()) return inspection.status();
  const GapDiagnosis& diagnosis = inspection->diagnosis;
  options.confirmed_by = ConfirmedByOf(config, diagnosis.birth);
  if (!inspection->checkpoint.ok()) {
    options.undecided.push_back(
        fmt::format("whether the checkpoint has a gap on record: {}",
                    std::string(inspection->checkpoint.status().message())));
  }
  if (!diagnosis.doubt.empty() && !inspection->is_in_use()) {
    options.undecided.push_back(diagnosis.doubt);
  }
  const bool is_on_record =
      (inspection->checkpoint.ok() && *inspection->checkpoint &&
       !(*inspection->checkpoint)->gap.empty()) ||
      (diagnosis.birth && !diagnosis.birth->gap.empty());
  if (diagnosis.kind == GapDiagnosis::Kind::kGap &&
      (is_on_record || !inspection->is_in_use())) {
    options.undecided.push_back(
        fmt::format("gap {}: {}", diagnosis.gap, diagnosis.text));
  }
  return absl::OkStatus();
}

absl::StatusOr<Config> LoadConfig(const Arguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return config;
  absl::Status usable = RequireBothEnds(*config);
  if (usable.ok()) usable = RequireReadableSink(*config, "verify");
  if (!usable.ok()) return usable;
  return config;
}

// A claim check has the digest of the payload's bytes.
absl::Status RefuseClaimChecks(const OutboxOptions& outbox) {
  for (const TableOptions& table : outbox.tables) {
    if (table.claim_check_above == 0) continue;
    return absl::InvalidArgumentError(fmt::format(
        "--json-equal: table {} has claim checks (claim_check_above), which "
        "tell the bytes of a payload alone: leave --json-equal out, or look at "
        "another table (--table)",
        table.name));
  }
  return absl::OkStatus();
}

absl::Status ReadUncommitted(const Config& config, VerifierOptions& options) {
  WALPOST_RETURN_IF_ERROR(RequireKafka(config, "verify --read-uncommitted"));
  TopicReaderOptions kafka = TopicReaderOptionsOf(config);
  kafka.isolation = TopicReaderOptions::Isolation::kUncommitted;
  options.connect = [kafka] { return TopicReader::Connect(kafka); };
  options.undecided.push_back(
      "records of aborted and open transactions were counted "
      "(--read-uncommitted), so a row may have no other record");
  return absl::OkStatus();
}

absl::StatusOr<VerifierOptions> MakeOptions(const Arguments& arguments,
                                            const Config& config) {
  VerifierOptions options;
  options.outbox = config.outbox;
  const absl::Status kept = KeepTable(arguments.table, options.outbox);
  if (!kept.ok()) return kept;
  if (arguments.json_equal) {
    const absl::Status refused = RefuseClaimChecks(options.outbox);
    if (!refused.ok()) return refused;
    options.compared_as = ComparedAs::kJson;
  }
  // Messages may have no id.
  options.fail_on_without_id = !options.outbox.messages.enabled();
  if (options.outbox.messages.enabled()) {
    Print(stderr,
          "note: logical messages leave no row behind, so they cannot be "
          "verified\n");
  }
  options.work_directory = WorkDirectory(arguments.work_directory);
  options.conninfo = CompleteConninfo(config.postgres.server);
  options.confirmed_by = ConfirmedByOf(config, std::nullopt);
  if (config.source == Source::kWal) {
    options.parking_table = config.parking.table;
    options.slot = config.postgres.slot;
    options.publication = config.postgres.publication;
  }
  options.connect = RecordsOf(config);
  if (arguments.read_uncommitted) {
    WALPOST_RETURN_IF_ERROR(ReadUncommitted(config, options));
  }
  options.sequence_column = arguments.sequence;
  options.more_topics = {arguments.topics.begin(), arguments.topics.end()};
  options.id_file = arguments.ids;
  options.wait_seconds = arguments.wait_seconds;
  options.fail_on_not_in_table = arguments.fail_on_not_in_table;
  options.fail_on_duplicates = arguments.fail_on_duplicates;
  return options;
}

void PrintRemedy(const Report& report) {
  if (report[FindingKind::kMissing].count == 0) return;
  const bool has_slot = report.confirmed != Report::Confirmed::kNeverWill;
  Print(stderr, "to publish what is missing: {}\n",
        has_slot ? "walpost replay -c FILE --from-table --missing (with "
                   "--dry-run it only counts); if walpost is stopped at a gap, "
                   "walpost recover -c FILE"
                 : "walpost recover -c FILE, which also makes a new slot (with "
                   "--dry-run it only counts)");
}

int Verify(const Arguments& arguments) {
  absl::StatusOr<Config> config = LoadConfig(arguments);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  absl::StatusOr<VerifierOptions> options = MakeOptions(arguments, *config);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  if (config->source == Source::kWal) {
    const absl::Status looked = LookForGap(*config, *options);
    if (!looked.ok()) return Fail(looked, kExitPostgres);
  }
  ProgressLine progress;
  Verifier verifier(*options, std::ref(progress));
  absl::StatusOr<Report> report = verifier.Run();
  progress.Finish();
  if (!report.ok()) {
    if (absl::IsInvalidArgument(report.status())) {
      return Fail(report.status(), kExitUsage);
    }
    return Fail(report.status(),
                verifier.failed_at_brokers() ? kExitKafka : kExitPostgres);
  }
  for (std::string& text : (*report)[FindingKind::kUndecided].examples) {
    text = WithOwnArguments(text);
  }
  if (!arguments.report_file.empty()) {
    std::ofstream file(arguments.report_file);
    file << report->ToJson();
    if (!file.flush()) {
      return Fail(absl::InvalidArgumentError(
                      fmt::format("--report {}: the file cannot be written: {}",
                                  arguments.report_file, std::strerror(errno))),
                  kExitUsage);
    }
  }
  PrintContent(arguments.json ? report->ToJson() : report->ToText());
  std::fflush(stdout);
  PrintRemedy(*report);
  return report->is_clean() ? kExitOk : kExitFindings;
}

}  // namespace

void AddVerify(CLI::App& app, int& exit_code) {
  Verb verb(app, "verify",
            "Compare the outbox table with what the brokers have");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(verb);
  verb.Option("--table", arguments->table, "Compare only this table");
  verb.Option("--sequence", arguments->sequence,
              "Column that counts the events of a key in commit order");
  verb.Option("--ids", arguments->ids,
              "Expect the ids in this file, one per line, instead of "
              "those in the table");
  verb.Option("--topic", arguments->topics, "Also read this topic");
  verb.Option("--wait", arguments->wait_seconds,
              "Seconds to wait for the slot to confirm what is committed")
      .Between(0, kMaxWaitSeconds)
      .ShowDefault();
  verb.Option("--work-directory", arguments->work_directory,
              "Folder of the temporary database ($TMPDIR, else /tmp)");
  verb.Option("--report", arguments->report_file,
              "Also write the report as JSON to this file");
  verb.Flag("--json", arguments->json, "Print the report as JSON");
  verb.Flag("--json-equal", arguments->json_equal,
            "Keys and values that are the same JSON are equal, whatever their "
            "bytes");
  verb.Flag("--fail-on-unknown", arguments->fail_on_not_in_table,
            "A record without a row is an error");
  verb.Flag("--fail-on-duplicates", arguments->fail_on_duplicates,
            "A record that was sent twice is an error");
  verb.Flag("--read-committed", arguments->read_committed,
            "Leave out records of aborted transactions, and wait for open "
            "ones (the default)")
      .Excludes(
          verb.Flag("--read-uncommitted", arguments->read_uncommitted,
                    "Also count records of aborted and open transactions"));
  verb.Footer(
      "Exit codes: 0 clean, 1 something is missing, wrong or undecided, 2 "
      "usage,\n3 Postgres, 4 the brokers.");
  verb.Callback([arguments, &exit_code] { exit_code = Verify(*arguments); });
}

}  // namespace walpost
