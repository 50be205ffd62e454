// walpost replay: publishes again what was published already, from the WAL of
// the replay window or, with --from-table, from the table (replay_table.h).
#include "app/backfill/replay.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <csignal>
#include <memory>

#include "app/sink/sinks.h"
#include "base/own_arguments.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint_codec.h"
#include "cli/recovery/replay_table.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/progress_line.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/row_lines.h"
#include "cli/shared/time_option.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/read_file.h"
#include "fmt/chrono.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

constexpr uint64_t kMaxPerSecond = 1'000'000'000;

struct Arguments {
  ConfigArguments config;
  TableReplayArguments table;
  std::string from_lsn;
  std::string from_checkpoint;
  std::string since;
  std::string to_lsn;
  std::string topic_prefix;
  std::string rate;
  bool dry_run = false;
};

// Parses "500" or "500/s".
absl::StatusOr<uint64_t> ParseRate(const std::string& text) {
  if (text.empty()) return 0;
  uint64_t rate = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, rate);
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  if (error == std::errc() && rate > 0 && rate <= kMaxPerSecond &&
      (unit.empty() || unit == "/s")) {
    return rate;
  }
  return absl::InvalidArgumentError(fmt::format(
      "--rate {}: a number of records a second is expected, as in 500/s",
      text));
}

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("--from-checkpoint {}: the file cannot be read: {}", path,
                    std::string(bytes.status().message())));
  }
  absl::StatusOr<Checkpoint> checkpoint = DecodeCheckpoint(*bytes);
  if (checkpoint.ok()) return checkpoint;
  return absl::InvalidArgumentError(
      fmt::format("--from-checkpoint {}: {}", path,
                  std::string(checkpoint.status().message())));
}

absl::StatusOr<Replay::Options> MakeOptions(const Arguments& arguments) {
  Replay::Options options;
  const int begins = !arguments.from_lsn.empty() +
                     !arguments.from_checkpoint.empty() +
                     !arguments.since.empty();
  if (begins == 0) {
    return absl::InvalidArgumentError(
        "where to begin? --from-lsn, --from-checkpoint, --since or "
        "--from-table");
  }
  if (!arguments.from_lsn.empty() && !arguments.from_checkpoint.empty()) {
    return absl::InvalidArgumentError(
        "--from-lsn and --from-checkpoint are two places to begin at");
  }
  ReplayRequest& request = options.request;
  WALPOST_ASSIGN_OR_RETURN(request.from,
                           ParseLsnOption("--from-lsn", arguments.from_lsn));
  WALPOST_ASSIGN_OR_RETURN(request.to,
                           ParseLsnOption("--to-lsn", arguments.to_lsn));
  if (!arguments.from_checkpoint.empty()) {
    WALPOST_ASSIGN_OR_RETURN(request.checkpoint,
                             ReadCheckpoint(arguments.from_checkpoint));
  }
  request.since = arguments.since;
  options.topic_prefix = arguments.topic_prefix;
  WALPOST_ASSIGN_OR_RETURN(options.per_second, ParseRate(arguments.rate));
  options.dry_run = arguments.dry_run;
  return options;
}

// Absolute, because "1h" would mean a different time later.
std::string TimeText(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06}+00",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (time - seconds).count());
}

// The command that continues where a run has stopped.
std::string ResumeCommand(const Arguments& arguments,
                          const Replay::Result& result) {
  std::string command = "walpost replay -c FILE";
  const auto add = [&command](const char* option, const std::string& value) {
    if (value.empty()) return;
    command += fmt::format(" {} {}", option, ShellWord(value));
  };
  add("--from-lsn", result.resume.ToString());
  add("--to-lsn", result.range.to.ToString());
  if (result.range.since) add("--since", TimeText(*result.range.since));
  add("--topic-prefix", arguments.topic_prefix);
  add("--rate", arguments.rate);
  return command;
}

void PrintResult(const Arguments& arguments, const Replay::Result& result) {
  // Those in flight are counted, too, after a failure.
  const std::string values =
      result.counts.events > 0
          ? fmt::format(" ({} bytes of values)", result.counts.value_bytes)
          : "";
  Print("{} events {} from {} to {}{}\n", result.counts.events,
        arguments.dry_run ? "would be replayed" : "replayed",
        result.range.from.ToString(),
        result.is_complete ? result.range.to.ToString()
                           : result.resume.ToString(),
        values);
  if (result.counts.undeliverable > 0) {
    Print("{} more {}\n", result.counts.undeliverable,
          arguments.dry_run ? "cannot be delivered as configured"
                            : "were not deliverable (on_error)");
  }
  Print("{}{}", LeftOutText(result.counts.left_out),
        OtherOriginText(result.other_origin));
  if (!arguments.since.empty() && result.is_complete &&
      result.counts.too_old == 0) {
    Print(
        "note: the WAL that is left, from {}, has no event from before {}: "
        "whether it goes back that far cannot be told\n",
        result.range.from.ToString(), arguments.since);
  }
}

// The first signal stops in order, the second one at once.
void StopOnSignal(asio::signal_set& signals, Replay& replay, bool asked) {
  signals.async_wait(
      [&signals, &replay, asked](boost::system::error_code error, int signal) {
        if (error) return;
        if (asked) std::_Exit(128 + signal);
        replay.Stop();
        StopOnSignal(signals, replay, true);
      });
}

ExitCode ExitCodeOf(const absl::Status& status, const Replay::Result& result) {
  if (absl::IsInvalidArgument(status)) return kExitUsage;
  return result.failed_at_kafka ? kExitKafka : kExitPostgres;
}

int ReplayFromWal(const Arguments& arguments, const Config& config,
                  Replay::Options options) {
  if (!config.kafka.brokers.empty()) PrintKafkaDeletions(config, {});
  ProgressLine progress;
  options.progress = [&](uint64_t records, uint64_t done, uint64_t all) {
    progress.WithEstimate(
        fmt::format("replaying: {} records, {} of {} MiB of WAL", records,
                    done >> 20, all >> 20),
        done, all);
  };
  asio::io_context io(1);
  auto replay =
      Replay::Create(io.get_executor(), config,
                     MakeSinks(io.get_executor(), config), std::move(options));
  if (!replay.ok()) return Fail(replay.status(), kExitUsage);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  StopOnSignal(signals, **replay, false);
  const absl::Status status = RunToEnd(io, (*replay)->Run());
  progress.Finish();
  const Replay::Result result = (*replay)->result();
  if (!result.is_open) return Fail(status, ExitCodeOf(status, result));
  PrintResult(arguments, result);
  if (status.ok() && result.is_complete) return kExitOk;
  Print(stderr, "not complete; to continue where it stopped, run:\n{}\n",
        ResumeCommand(arguments, result));
  if (status.ok()) return kExitFindings;
  return Fail(status, ExitCodeOf(status, result));
}

int RunReplay(Arguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status complete =
      arguments.dry_run ? RequirePostgres(*config) : RequireBothEnds(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  std::signal(SIGPIPE, SIG_IGN);
  if (arguments.table.from_table) {
    const absl::StatusOr<uint64_t> rate = ParseRate(arguments.rate);
    if (!rate.ok()) return Fail(rate.status(), kExitUsage);
    arguments.table.since = arguments.since;
    return ReplayFromTable(
        arguments.table, *config,
        ReplayLimits{arguments.topic_prefix, *rate, arguments.dry_run});
  }
  const absl::Status wal =
      RequireWalSource(*config, "replay from the WAL",
                       "use walpost replay -c FILE --from-table");
  if (!wal.ok()) return Fail(wal, kExitUsage);
  absl::StatusOr<Replay::Options> options = MakeOptions(arguments);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  return ReplayFromWal(arguments, *config, *std::move(options));
}

}  // namespace

void AddReplay(CLI::App& app, int& exit_code) {
  Verb verb(app, "replay", "Publish events again");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(verb);
  const VerbOption from_table = AddTableReplayOptions(verb, arguments->table);
  verb.Option("--from-lsn", arguments->from_lsn,
              "Begin with transactions that committed at this LSN or later")
      .Excludes(from_table);
  verb.Option("--from-checkpoint", arguments->from_checkpoint,
              "Begin at the position in this checkpoint file")
      .Excludes(from_table);
  verb.Option("--to-lsn", arguments->to_lsn,
              "End before this LSN (the confirmed LSN)")
      .Excludes(from_table);
  verb.Option("--since", arguments->since,
              "Only transactions that committed at this time or later; "
              "1h: an hour ago");
  verb.Option("--topic-prefix", arguments->topic_prefix,
              "Prefix for the names of the topics (none)");
  verb.Option("--rate", arguments->rate,
              "Maximum records per second, as in 500/s (no limit)");
  verb.Flag("--dry-run", arguments->dry_run, "Only count");
  verb.Footer(
      "Exit codes: 0 done, 1 stopped before the end, 2 usage, 3 Postgres, 4 "
      "the brokers.");
  verb.Callback([arguments, &exit_code] { exit_code = RunReplay(*arguments); });
}

}  // namespace walpost
