// walpost prune: deletes old sent rows; creates and drops partitions.
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>

#include "absl/time/time.h"
#include "app/checkpoint/checkpoint_service.h"
#include "app/process/retention_service.h"
#include "app/sink/kafka_deletions.h"
#include "base/status_macros.h"
#include "cli/shared/complete_conninfo.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/only_copies.h"
#include "config/units.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "retention/pruner.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

constexpr size_t kMaxBatchRows = 100'000;

struct Arguments {
  ConfigArguments config;
  std::string older_than;
  std::string pause;
  std::string assume_sent_before;
  size_t batch = 0;
  bool dry_run = false;
};

absl::Status ReadDuration(const char* option, const std::string& text,
                          std::chrono::milliseconds& value) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<std::chrono::milliseconds> parsed = ParseDuration(text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", option, std::string(parsed.status().message())));
  }
  value = *parsed;
  return absl::OkStatus();
}

// "7d": that long ago; else a time with its zone. Returns SQL.
absl::StatusOr<std::string> ReadTime(const char* option,
                                     const std::string& text) {
  const absl::StatusOr<std::chrono::milliseconds> ago = ParseDuration(text);
  if (ago.ok()) {
    return fmt::format("now() - interval '{} milliseconds'", ago->count());
  }
  constexpr const char* kFormats[] = {"%Y-%m-%d%ET%H:%M:%E*S%Ez",
                                      "%Y-%m-%d %H:%M:%E*S%Ez",
                                      "%Y-%m-%d %H:%M:%E*S %Ez"};
  for (const char* format : kFormats) {
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(format, text, &time, &error)) continue;
    return fmt::format(
        "'{}'::timestamptz",
        absl::FormatTime("%Y-%m-%d %H:%M:%E6S+00", time, absl::UTCTimeZone()));
  }
  return absl::InvalidArgumentError(fmt::format(
      "{} {}: give a time with its zone, as in 2026-01-31T00:00:00Z, or how "
      "long ago, as in 7d",
      option, text));
}

absl::StatusOr<Pruner::Options> MakeOptions(const Arguments& arguments,
                                            const Config& config) {
  WALPOST_RETURN_IF_ERROR(RequirePostgres(config));
  WALPOST_RETURN_IF_ERROR(CheckOnlyCopies(config));
  Pruner::Options options = PrunerOptions(config);
  if (arguments.older_than.empty() && !config.retention.enabled()) {
    return absl::InvalidArgumentError(
        "the age is missing: set --older-than 7d, or retention.keep in the "
        "configuration");
  }
  WALPOST_RETURN_IF_ERROR(ReadDuration("--older-than", arguments.older_than,
                                       options.retention.keep));
  WALPOST_RETURN_IF_ERROR(
      ReadDuration("--pause", arguments.pause, options.retention.pause));
  if (arguments.batch > 0) options.retention.batch_rows = arguments.batch;
  if (!arguments.assume_sent_before.empty()) {
    if (options.proof != SentProof::kSlot) {
      return absl::InvalidArgumentError(
          "--assume-sent-before is for source: wal; which rows are sent by a "
          "poller is in the table or in its cursor");
    }
    WALPOST_ASSIGN_OR_RETURN(
        options.assume_sent_before,
        ReadTime("--assume-sent-before", arguments.assume_sent_before));
  }
  if (arguments.dry_run) options.mode = RowPruner::Mode::kDryRun;
  return options;
}

void Report(const Pruned& pruned, const std::string& limit,
            const Arguments& arguments) {
  const char* would = arguments.dry_run ? "would be " : "";
  Print("{}: {} rows {}deleted", pruned.table, pruned.rows.deleted, would);
  if (pruned.rows.kept > 0) {
    Print(", {} as old are kept: not known to be sent", pruned.rows.kept);
  }
  Print("\n");
  if (pruned.rows.unproven > 0 && !pruned.doubt.empty()) {
    const std::string age = arguments.older_than.empty()
                                ? ""
                                : " --older-than " + arguments.older_than;
    Print("{}: {} of them have no proof: {} '{}'{}\n", pruned.table,
          pruned.rows.unproven, pruned.doubt, limit, age);
  }
  if (pruned.partitions_made > 0) {
    Print("{}: {} partitions made\n", pruned.table, pruned.partitions_made);
  }
  for (const std::string& name : pruned.dropped) {
    Print("{}: partition {} {}dropped\n", pruned.table, name, would);
  }
  for (const std::string& why : pruned.not_dropped) {
    Print("{}: partition not dropped: {}\n", pruned.table, why);
  }
}

// Before anything is deleted.
void ReportOnlyCopies(const Config& config) {
  if (config.kafka.brokers.empty()) {
    const bool is_kafka = config.sink == SinkKind::kKafka;
    return Print("whether {} still has the events was not asked: {}\n",
                 WordsOf(config.sink).name,
                 is_kafka ? "kafka.brokers is not set" : "it is not read");
  }
  const absl::StatusOr<std::vector<OnlyCopies>> copies =
      FindOnlyCopies(config, CompleteConninfo(config.postgres.server));
  if (!copies.ok()) {
    return Print("whether Kafka still has the events is not known: {}\n",
                 std::string(copies.status().message()));
  }
  for (const OnlyCopies& copy : *copies) {
    Print(
        "{}: Kafka has deleted {} records of topic {}, and has {} left: rows "
        "whose records are gone are the only copy of their events\n",
        copy.table, copy.deleted_records, copy.topic, copy.left_records);
  }
}

int Prune(const Arguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  absl::StatusOr<Pruner::Options> options = MakeOptions(arguments, *config);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  ReportOnlyCopies(*config);
  asio::io_context io(1);
  if (options->proof == SentProof::kSlot && config->checkpoint.has_store()) {
    options->load_checkpoint = [&io, &config] {
      return ReadCheckpoint(io.get_executor(), *config);
    };
  }
  Pruner pruner(io.get_executor(), *std::move(options));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) pruner.Stop();
  });
  const absl::Status status = RunToEnd(io, pruner.Run());
  bool is_complete = true;
  for (const Pruned& pruned : pruner.pruned()) {
    Report(pruned, pruner.limit(), arguments);
    is_complete &= pruned.not_dropped.empty();
  }
  if (!status.ok()) {
    const bool later = absl::IsUnavailable(status) || absl::IsCancelled(status);
    return Fail(status, later ? kExitFindings : kExitPostgres);
  }
  return is_complete ? kExitOk : kExitFindings;
}

}  // namespace

void AddPrune(CLI::App& app, int& exit_code) {
  Verb verb(app, "prune",
            "Delete old events that were sent; make and drop partitions");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(verb);
  verb.Option("--older-than", arguments->older_than,
              "Minimum age of deleted events, as in 7d (retention.keep)");
  verb.Option("--batch", arguments->batch,
              "Rows of one DELETE (retention.batch_rows)")
      .Between(1, kMaxBatchRows);
  verb.Option("--pause", arguments->pause,
              "Pause between two DELETEs (retention.pause)");
  verb.Option("--assume-sent-before", arguments->assume_sent_before,
              "Assume that rows before this time (2026-01-31T00:00:00Z; "
              "7d: seven days ago) were sent; a gap still stops the pass");
  verb.Flag("--dry-run", arguments->dry_run, "Only count");
  verb.Footer(
      "Exit codes: 0 done, 1 not now: try again later, 2 usage, 3 an operator "
      "must act.");
  verb.Callback([arguments, &exit_code] { exit_code = Prune(*arguments); });
}

}  // namespace walpost
