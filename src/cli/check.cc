// walpost check: checks both ends, prints the findings and their remedies.
#include <algorithm>
#include <map>
#include <memory>

#include "app/sink/kafka_deletions.h"
#include "app/sink/sinks.h"
#include "base/finding.h"
#include "cli/check/check_instance.h"
#include "cli/check/check_postgres.h"
#include "cli/shared/complete_conninfo.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"
#include "outbox/table_pattern.h"

namespace walpost {
namespace {

using Found = absl::StatusOr<Findings>;

// Which changes of the slot by others are noticed.
Findings CheckStore(const CheckpointOptions& options) {
  Finding finding{Severity::kOk, "checkpoint.store",
                  "is set: a slot that somebody else advanced or made again is "
                  "noticed",
                  ""};
  if (!options.has_store()) {
    finding.severity = Severity::kNote;
    finding.text =
        "is none: a missing slot is noticed, but not one that somebody else "
        "advanced or made again";
    finding.remedy = fmt::format("checkpoint.store: {} notices it",
                                 CheckpointOptions::kKeepers);
  }
  return {finding};
}

std::string_view Mark(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok     ";
    case Severity::kNote:
      return "note   ";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "ERROR  ";
  }
  return "";
}

// Prints one end's findings; true if one of them is an error.
bool Report(const Found& findings, std::string_view end) {
  if (!findings.ok()) {
    Print("{} {}: {}\n", Mark(Severity::kError), end,
          std::string(findings.status().message()));
    return true;
  }
  for (const Finding& finding : *findings) {
    Print("{} {} {}\n", Mark(finding.severity), finding.subject, finding.text);
    if (!finding.remedy.empty()) {
      Print("        -> {}\n", finding.remedy);
    }
  }
  return FirstError(*findings) != nullptr;
}

// A letter is as large as its event, and is refused for the same reason.
Findings CheckLetters(const Config& config) {
  const size_t too_large = FindErrorClass(kReasonRecordTooLarge);
  const bool is_whole =
      config.outbox.dead_letter.payload == DeadLetterOptions::Payload::kWhole;
  if (config.on_error.Get(too_large) != ErrorAction::kDeadLetter || !is_whole ||
      config.keeps_letters()) {
    return {};
  }
  return {
      {Severity::kWarning, "on_error.record_too_large",
       "is dead_letter, and dead_letter.payload is whole: the dead letter is "
       "as large as its event, so the flow stops before it all the same",
       "set dead_letter.payload: cut, or dead_letter.store: postgres; or "
       "outbox.tables[].claim_check_above, so that large payloads stay in "
       "their rows"}};
}

// What the rows and the topics say together.
Findings CompareBothEnds(const Config& config) {
  const ReloadableText conninfo = CompleteConninfo(config.postgres.server);
  const Severity severity =
      config.postgres.initial_snapshot ? Severity::kWarning : Severity::kNote;
  return CompareRowsAndTopics(config, conninfo, severity);
}

// Adds the tables that match patterns of outbox.tables.
Found FindByPatterns(Config& config) {
  const absl::Status expanded = ExpandTables(config, WithRecorded::kYes);
  if (!expanded.ok()) return expanded;
  Findings findings;
  for (const std::string& pattern : UnmatchedPatterns(config.outbox)) {
    findings.push_back(
        {Severity::kWarning, fmt::format("outbox.tables {}", pattern),
         "matches no table",
         "correct it; or create the table and add it to the publication: a "
         "walpost that runs publishes it without a restart"});
  }
  return findings;
}

int Check(const ConfigArguments& arguments) {
  absl::StatusOr<Config> config = arguments.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status complete = RequireBothEnds(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  const absl::StatusOr<Findings> instance = FindInstance(*config);
  if (!instance.ok()) return Fail(instance.status(), kExitUsage);
  const absl::StatusOr<Findings> patterns = FindByPatterns(*config);
  const auto routes = Route::CreateAll(config->outbox);
  if (!routes.ok()) return Fail(routes.status(), kExitUsage);

  // Asked first: Postgres has on record which cluster has the events.
  const absl::StatusOr<SinkFindings> cluster =
      CheckSink(*config, *routes, FindTransactionalIds(*config, *routes));
  const bool postgres_failed =
      Report(FindInPostgres(*config, *routes, cluster.value_or(SinkFindings())),
             "Postgres");
  bool failed = postgres_failed;
  failed |= Report(patterns, "outbox.tables");
  if (config->source == Source::kWal) {
    failed |= Report(CheckStore(config->checkpoint), "checkpoint");
    failed |= Report(CheckLetters(*config), "dead_letter");
  }
  if (config->postgres.failover) {
    failed |= Report(FindInStandbys(*config), "standbys");
  }
  if (config->retention.enabled()) {
    failed |= Report(FindForRetention(*config), "retention");
  }
  failed |= Report(cluster.ok() ? Found(cluster->findings) : cluster.status(),
                   "Kafka");
  // Asks both ends: a server, or a pooler before it, that fails may not answer.
  if (cluster.ok() && cluster->answers && !postgres_failed) {
    failed |= Report(CompareBothEnds(*config), "Kafka");
  }
  failed |= Report(*instance, "http.listen");
  return failed ? kExitFindings : kExitOk;
}

}  // namespace

void AddCheck(CLI::App& app, int& exit_code) {
  Verb verb(app, "check", "Test both ends and print what to fix, and how");
  auto arguments = std::make_shared<ConfigArguments>();
  arguments->AddTo(verb);
  verb.Footer(
      "Exit codes: 0 no error found, 1 something must be fixed, 2 usage.");
  verb.Callback([arguments, &exit_code] { exit_code = Check(*arguments); });
}

}  // namespace walpost
