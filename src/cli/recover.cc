// walpost recover: after a gap, publish what Kafka lacks and begin anew.
#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "app/checkpoint_keeper.h"
#include "app/slot_founder.h"
#include "cli/exit_code.h"
#include "cli/progress_line.h"
#include "cli/require_wal.h"
#include "cli/run_to_end.h"
#include "cli/verbs.h"
#include "cli/work_directory.h"
#include "fmt/format.h"
#include "judge/known_ids.h"
#include "outbox/numbering.h"
#include "postgres/transaction_id_column.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using Counts = TablePublisher::Counts;

struct Result {
  Counts counts;
  RecoveryRange range;
};

struct Arguments {
  ConfigArguments config;
  std::string since;
  std::string order_by;
  std::string work_directory;
  bool all = false;
  bool dry_run = false;
};

// The ids that are in Kafka already; nullptr with --since, which asks for all.
absl::StatusOr<std::unique_ptr<KnownIds>> ReadKafka(const Arguments& arguments,
                                                    const Config& config,
                                                    ProgressLine& progress) {
  if (!arguments.since.empty()) return nullptr;
  KnownIds::Options options;
  options.conninfo = config.postgres.conninfo;
  options.outbox = config.outbox;
  options.brokers = config.kafka.brokers;
  options.kafka_properties = config.kafka.properties;
  options.directory = WorkDirectory(arguments.work_directory);
  return KnownIds::Read(options, std::ref(progress));
}

asio::awaitable<absl::StatusOr<RecoveryRange>> FindRange(
    asio::any_io_executor executor, const Config& config,
    const Arguments& arguments, SlotFounder& founder) {
  RecoveryRange range;
  if (!arguments.since.empty()) {
    range.text = fmt::format("all rows since {}", arguments.since);
  } else if (arguments.all) {
    range.text = "all rows";
  } else if (!HasTransactionIds(config.outbox)) {
    range.text = "all rows: no table has outbox.tables.state.transaction_id";
  } else {
    const absl::StatusOr<RecoveryServer> server =
        co_await founder.LookAtServer();
    if (!server.ok()) co_return server.status();
    const absl::StatusOr<std::optional<Checkpoint>> loaded =
        co_await LoadCheckpoint(executor, config);
    range = ChooseRecoveryRange(
        loaded, NumberingOf(config.outbox, config.postgres.publication),
        *server);
  }
  co_return range;
}

asio::awaitable<absl::StatusOr<Result>> Recover(
    asio::any_io_executor executor, const Config& config,
    const Arguments& arguments, TablePublisher::Options options) {
  SlotFounder founder(executor, config);
  const absl::Status connected = co_await founder.Connect();
  if (!connected.ok()) co_return connected;
  if (founder.slot() && founder.slot()->active) {
    co_return absl::FailedPreconditionError(fmt::format(
        "slot {} is in use: stop walpost first", config.postgres.slot));
  }
  const absl::StatusOr<RecoveryRange> range =
      co_await FindRange(executor, config, arguments, founder);
  if (!range.ok()) co_return range.status();
  options.filter.from_transaction = range->from_transaction;
  const absl::StatusOr<Counts> counts =
      co_await founder.Publish(std::move(options));
  if (!counts.ok()) co_return counts.status();
  const Result result{*counts, *range};
  if (arguments.dry_run) co_return result;
  // Before the slot: should we die between the two, the slot is missing still.
  Checkpoint begin;
  begin.system_identifier = founder.system_identifier();
  begin.timeline = founder.timeline();
  begin.slot = config.postgres.slot;
  begin.birth = founder.consistent_point();
  begin.confirmed = founder.consistent_point();
  const absl::Status stored =
      co_await StoreCheckpoint(executor, config, std::move(begin));
  if (!stored.ok()) co_return stored;
  const absl::Status kept = co_await founder.Keep();
  if (!kept.ok()) co_return kept;
  co_return result;
}

void PrintResult(const Arguments& arguments, const Config& config,
                 const Result& result) {
  const Counts& counts = result.counts;
  fmt::print("range: {}\n", result.range.text);
  const std::string what =
      arguments.since.empty() ? "are not in Kafka" : "are wanted";
  if (arguments.dry_run) {
    fmt::print("{} rows looked at, {} {}; nothing was done\n", counts.rows,
               counts.published, what);
  } else {
    fmt::print(
        "{} rows looked at, {} published with header walpost-recovered; slot "
        "{} is new: start walpost\n",
        counts.rows, counts.published, config.postgres.slot);
  }
  fmt::print("not recoverable: rows that were deleted since{}\n",
             config.outbox.messages.enabled() ? ", and logical messages" : "");
}

int RunRecover(const Arguments& arguments) {
  const absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status complete = RequireBothEnds(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  const absl::Status wal = RequireWalSource(
      *config, "recover", "pending rows are published without it");
  if (!wal.ok()) return Fail(wal, kExitUsage);
  ProgressLine progress;
  auto known = ReadKafka(arguments, *config, progress);
  progress.Finish();
  if (!known.ok()) return Fail(known.status(), kExitKafka);
  TablePublisher::Options options;
  options.filter.since = arguments.since;
  options.filter.order_by = arguments.order_by;
  options.mark.header = "walpost-recovered";
  options.dry_run = arguments.dry_run;
  if (*known != nullptr) {
    options.is_wanted =
        [&ids = **known](std::string_view id) -> absl::StatusOr<bool> {
      const absl::StatusOr<bool> has = ids.Has(id);
      if (!has.ok()) return has.status();
      return !*has;
    };
  }
  options.progress = [&progress](uint64_t done, uint64_t all) {
    progress("reading the table", done, all);
  };
  asio::io_context io(1);
  const absl::StatusOr<Result> result = RunToEnd(
      io, Recover(io.get_executor(), *config, arguments, std::move(options)));
  progress.Finish();
  if (!result.ok()) return Fail(result.status(), kExitPostgres);
  PrintResult(arguments, *config, *result);
  return kExitOk;
}

}  // namespace

void AddRecover(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "recover", "After a gap: publish what Kafka lacks, and make a new slot");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(*verb);
  verb->add_flag("--dry-run", arguments->dry_run, "Only count");
  verb->add_flag("--all", arguments->all,
                 "Look at all rows, not only at those of transactions after "
                 "the checkpoint");
  verb->add_option("--since", arguments->since,
                   "Publish all rows since this time (1h: an hour ago), in "
                   "Kafka or not");
  verb->add_option("--order-by", arguments->order_by,
                   "Column that gives the order of the rows (the id)");
  verb->add_option("--work-directory", arguments->work_directory,
                   "Where the temporary database goes ($TMPDIR)");
  verb->callback(
      [arguments, &exit_code] { exit_code = RunRecover(*arguments); });
}

}  // namespace walpost
