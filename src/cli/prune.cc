// walpost prune: delete what was sent and is old; make and drop partitions.
#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>

#include "app/retention_keeper.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/run_to_end.h"
#include "cli/verbs.h"
#include "config/units.h"
#include "fmt/format.h"
#include "retention/pruner.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

constexpr size_t kMostBatchRows = 100'000;

struct Arguments {
  ConfigArguments config;
  std::string older_than;
  std::string pause;
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

absl::StatusOr<Pruner::Options> MakeOptions(const Arguments& arguments,
                                            const Config& config) {
  WALPOST_RETURN_IF_ERROR(RequirePostgres(config));
  Pruner::Options options = PrunerOptions(config);
  if (arguments.older_than.empty() && !config.retention.enabled()) {
    return absl::InvalidArgumentError(
        "how old is old? --older-than 7d, or retention.keep in the "
        "configuration");
  }
  WALPOST_RETURN_IF_ERROR(ReadDuration("--older-than", arguments.older_than,
                                       options.retention.keep));
  WALPOST_RETURN_IF_ERROR(
      ReadDuration("--pause", arguments.pause, options.retention.pause));
  if (arguments.batch > kMostBatchRows) {
    return absl::InvalidArgumentError(
        fmt::format("--batch {}: at most {}", arguments.batch, kMostBatchRows));
  }
  if (arguments.batch > 0) options.retention.batch_rows = arguments.batch;
  if (arguments.dry_run) options.mode = RowPruner::Mode::kDryRun;
  return options;
}

void Print(const Pruned& pruned, bool dry_run) {
  const char* would = dry_run ? "would be " : "";
  fmt::print("{}: {} rows {}deleted", pruned.table, pruned.rows.deleted, would);
  if (pruned.rows.kept > 0) {
    fmt::print(", {} as old are kept: not known to be sent", pruned.rows.kept);
  }
  fmt::print("\n");
  if (pruned.partitions_made > 0) {
    fmt::print("{}: {} partitions made\n", pruned.table,
               pruned.partitions_made);
  }
  for (const std::string& name : pruned.dropped) {
    fmt::print("{}: partition {} {}dropped\n", pruned.table, name, would);
  }
  for (const std::string& why : pruned.not_dropped) {
    fmt::print("{}: partition not dropped: {}\n", pruned.table, why);
  }
}

int Prune(const Arguments& arguments) {
  const absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  absl::StatusOr<Pruner::Options> options = MakeOptions(arguments, *config);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  asio::io_context io(1);
  Pruner pruner(io.get_executor(), *std::move(options));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) pruner.Stop();
  });
  const absl::Status status = RunToEnd(io, pruner.Run());
  bool is_complete = true;
  for (const Pruned& pruned : pruner.pruned()) {
    Print(pruned, arguments.dry_run);
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
  CLI::App* verb = app.add_subcommand(
      "prune", "Delete old events that were sent; make and drop partitions");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(*verb);
  verb->add_option("--older-than", arguments->older_than,
                   "Age from which they go, as in 7d (retention.keep)");
  verb->add_option("--batch", arguments->batch,
                   "Rows of one DELETE (retention.batch_rows)");
  verb->add_option("--pause", arguments->pause,
                   "Rest between two of them (retention.pause)");
  verb->add_flag("--dry-run", arguments->dry_run, "Only count");
  verb->callback([arguments, &exit_code] { exit_code = Prune(*arguments); });
}

}  // namespace walpost
