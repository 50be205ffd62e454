#include "cli/recovery/replay_table.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <sstream>

#include "absl/strings/str_join.h"
#include "app/backfill/pending_slot_events.h"
#include "app/backfill/read_events_on_record.h"
#include "app/backfill/table_publisher.h"
#include "app/sink/sinks.h"
#include "base/nearest_word.h"
#include "base/status_macros.h"
#include "cli/recovery/missing_rows.h"
#include "cli/recovery/settle_table.h"
#include "cli/shared/confirmed_by.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/progress_line.h"
#include "cli/shared/row_lines.h"
#include "cli/shared/slot_inspection.h"
#include "config/read_file.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "postgres/tables/table_scan.h"

namespace walpost {
namespace {

constexpr size_t kMaxIdsBytes = size_t{1} << 30;

namespace asio = boost::asio;
using Counts = TablePublisher::Counts;

absl::StatusOr<std::vector<std::string>> ReadIds(const std::string& path) {
  std::vector<std::string> ids;
  if (path.empty()) return ids;
  const absl::StatusOr<std::string> content = ReadFile(path, kMaxIdsBytes);
  if (!content.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("--ids {}: the file cannot be read: {}", path,
                    std::string(content.status().message())));
  }
  std::istringstream lines(*content);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) ids.push_back(line);
  }
  if (ids.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("--ids {}: the file has no id; write one per line", path));
  }
  return ids;
}

// The tables to read.
absl::StatusOr<std::vector<std::string>> ChooseTables(
    const std::string& wanted, const std::vector<TableOptions>& tables) {
  std::vector<std::string> names;
  for (const TableOptions& table : tables) names.push_back(table.name);
  if (wanted.empty()) return names;
  if (std::ranges::find(names, wanted) != names.end()) return {{wanted}};
  const std::string nearest = NearestWord(wanted, names);
  return absl::InvalidArgumentError(fmt::format(
      "--table {}: outbox.tables does not list it{}; it lists {}", wanted,
      nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest),
      absl::StrJoin(names, ", ")));
}

bool HasFilter(const TableReplayArguments& arguments) {
  return !arguments.since.empty() || !arguments.ids_file.empty() ||
         !arguments.aggregate.empty() || !arguments.where.empty();
}

class TableReplay {
 public:
  // `config` and `missing` outlive this object. `missing`: nullptr: publish
  // all.
  TableReplay(asio::any_io_executor executor, const Config& config,
              MissingRows* missing)
      : executor_(executor), config_(config), missing_(missing) {}

  // `settled`: the one table whose rows are all published; empty: none.
  asio::awaitable<absl::StatusOr<Counts>> Run(TablePublisher::Options options,
                                              std::string settled);

  ExitCode failed_end() const { return end_; }
  // Why a gap of the table stays.
  const absl::Status& settlement() const { return settlement_; }

 private:
  asio::awaitable<absl::StatusOr<Counts>> Publish(
      TablePublisher::Options options);
  asio::awaitable<absl::StatusOr<EventsOnRecord>> ReadOnRecord();
  asio::awaitable<absl::Status> LeaveOutStreamed(Connection& connection,
                                                 TablePublisher& publisher);

  asio::any_io_executor executor_;
  const Config& config_;
  MissingRows* missing_;
  ExitCode end_ = kExitPostgres;
  absl::Status settlement_;
};

asio::awaitable<absl::StatusOr<Counts>> TableReplay::Run(
    TablePublisher::Options options, std::string settled) {
  std::optional<TableSettlement> settlement;
  if (!settled.empty()) {
    settlement.emplace(executor_, config_, settled);
    WALPOST_CO_RETURN_IF_ERROR(co_await settlement->Begin());
  }
  absl::StatusOr<Counts> counts = co_await Publish(std::move(options));
  if (counts.ok() && settlement) {
    const bool lacks_rows = missing_->has_passed_over() ||
                            counts->set_aside + counts->left_out.sum() > 0;
    settlement_ = co_await settlement->End(lacks_rows);
  }
  co_return counts;
}

asio::awaitable<absl::StatusOr<Counts>> TableReplay::Publish(
    TablePublisher::Options options) {
  ConnectionOptions connection;
  connection.server = config_.postgres.server;
  connection.application_name = "walpost:replay";
  connection.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::unique_ptr<Connection> connected,
      co_await Connection::Connect(executor_, connection));
  const std::string begin =
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows begun,
                              co_await connected->Execute(begin));
  if (options.filter.ids.empty()) {
    WALPOST_CO_ASSIGN_OR_RETURN(options.rows.on_record,
                                co_await ReadOnRecord());
  }
  absl::StatusOr<std::unique_ptr<TablePublisher>> publisher =
      TablePublisher::Create(executor_, config_, MakeSinks(executor_, config_),
                             std::move(options));
  if (!publisher.ok()) co_return publisher.status();
  if (missing_ != nullptr) {
    WALPOST_CO_RETURN_IF_ERROR(
        co_await LeaveOutStreamed(*connected, **publisher));
  }
  const absl::StatusOr<Counts> counts =
      co_await (*publisher)->Publish(*connected);
  if ((*publisher)->sink_failed()) end_ = kExitKafka;
  co_return counts;
}

asio::awaitable<absl::StatusOr<EventsOnRecord>> TableReplay::ReadOnRecord() {
  OnRecordQuery query;
  query.verb = "replay";
  query.if_unknown = ParkedList::IfUnknown::kEmpty;
  bool failed_at_kafka = false;
  absl::StatusOr<EventsOnRecord> on_record =
      co_await ReadEventsOnRecord(executor_, config_, query, &failed_at_kafka);
  if (failed_at_kafka) end_ = kExitKafka;
  co_return on_record;
}

// While no walpost streams, rows that the slot still has are pending, and not
// missing. Else they are in Kafka by now, or soon.
asio::awaitable<absl::Status> TableReplay::LeaveOutStreamed(
    Connection& connection, TablePublisher& publisher) {
  const std::string sql = "SELECT pg_catalog.pg_current_wal_insert_lsn()";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  WALPOST_CO_ASSIGN_OR_RETURN(const Lsn end, Lsn::Parse(rows.Text(0, 0)));
  PendingSlotEvents survey(executor_, config_);
  absl::StatusOr<EventSet> streamed =
      co_await survey.Run(publisher.run().sender().builder().routes(), end);
  if (streamed.ok()) publisher.backfill().SetLeftOut(*std::move(streamed));
  co_return absl::OkStatus();
}

void PrintResult(const TableReplayArguments& arguments, const Counts& counts,
                 const MissingRows* missing, bool dry_run) {
  if (missing == nullptr) {
    Print("{} rows {}{}\n{}", counts.published,
          dry_run ? "would be replayed" : "replayed", SetAsideText(counts),
          LeftOutText(counts));
    return;
  }
  Print("{} rows looked at, {} {}{}\n{}{}", counts.rows, counts.published,
        dry_run ? "are not published; nothing was done"
                : "were not published, and are replayed",
        SetAsideText(counts), LeftOutText(counts), missing->ToText());
  if (!dry_run && !arguments.table.empty() && !HasFilter(arguments)) {
    Print(
        "table {} has no other row that is not published and nobody has "
        "decided "
        "about\n",
        arguments.table);
  }
}

absl::StatusOr<std::optional<BirthRecord>> FindBirth(const Config& config) {
  if (config.source != Source::kWal) return std::nullopt;
  asio::io_context io(1);
  absl::StatusOr<SlotInspection> inspection = RunToEnd(
      io, InspectSlot(io.get_executor(), config, {}, InspectPending::kNo));
  if (!inspection.ok()) return inspection.status();
  return std::move(inspection->diagnosis.birth);
}

absl::StatusOr<std::unique_ptr<MissingRows>> FindMissing(
    const TableReplayArguments& arguments, const Config& config,
    const std::vector<std::string>& tables, ProgressLine& progress,
    ExitCode& end) {
  if (!arguments.missing) return nullptr;
  const absl::Status readable = RequireReadableSink(
      config, "replay --from-table --missing",
      "walpost replay -c FILE --from-table --since TIME sends all rows of that "
      "time again");
  if (!readable.ok()) {
    end = kExitUsage;
    return readable;
  }
  OutboxOptions outbox = config.outbox;
  std::erase_if(outbox.tables, [&tables](const TableOptions& table) {
    return std::ranges::find(tables, table.name) == tables.end();
  });
  WALPOST_ASSIGN_OR_RETURN(const std::optional<BirthRecord> birth,
                           FindBirth(config));
  WALPOST_ASSIGN_OR_RETURN(
      MissingRows missing,
      ReadPublished(config, outbox, ConfirmedByOf(config, birth),
                    arguments.expired ? MissingRows::Expired::kMissing
                                      : MissingRows::Expired::kNotMissing,
                    arguments.work_directory, progress, end));
  end = kExitPostgres;
  return std::make_unique<MissingRows>(std::move(missing));
}

}  // namespace

VerbOption AddTableReplayOptions(Verb& verb, TableReplayArguments& arguments) {
  const VerbOption from_table =
      verb.Flag("--from-table", arguments.from_table,
                "Publish rows of the outbox table, not the WAL");
  verb.Option("--table", arguments.table,
              "Only this table of outbox.tables (schema.table)")
      .Needs(from_table);
  const VerbOption missing = verb.Flag("--missing", arguments.missing,
                                       "Only rows that are not published; with "
                                       "--table it also ends a gap "
                                       "of that table (table_passed_over)")
                                 .Needs(from_table);
  verb.Option("--work-directory", arguments.work_directory,
              "With --missing: folder of the temporary database ($TMPDIR, else "
              "/tmp)")
      .Needs(missing);
  verb.Flag("--expired", arguments.expired,
            "With --missing: also rows whose records were deleted "
            "(retention, compaction)")
      .Needs(missing);
  verb.Option("--ids", arguments.ids_file,
              "Only the ids in this file, one per line, whatever is on record "
              "about them")
      .Needs(from_table);
  verb.Option("--aggregate", arguments.aggregate,
              "Only rows of this aggregate_id")
      .Needs(from_table);
  verb.Option("--where", arguments.where, "Only rows with this condition")
      .Needs(from_table);
  verb.Option("--order-by", arguments.order_by,
              "Column that gives the order of the rows (an integer id, a "
              "sequence, the transaction id, the creation time)")
      .Needs(from_table);
  return from_table;
}

int ReplayFromTable(const TableReplayArguments& arguments, const Config& config,
                    const ReplayLimits& limits) {
  if (arguments.missing && !limits.topic_prefix.empty()) {
    return Fail(absl::InvalidArgumentError(
                    "--missing compares rows with their own topics: leave out "
                    "--topic-prefix"),
                kExitUsage);
  }
  absl::StatusOr<std::vector<std::string>> tables =
      ChooseTables(arguments.table, config.outbox.tables);
  if (!tables.ok()) return Fail(tables.status(), kExitUsage);
  absl::StatusOr<std::vector<std::string>> ids = ReadIds(arguments.ids_file);
  if (!ids.ok()) return Fail(ids.status(), kExitUsage);
  ProgressLine progress;
  ExitCode end = kExitPostgres;
  const absl::StatusOr<std::unique_ptr<MissingRows>> found =
      FindMissing(arguments, config, *tables, progress, end);
  progress.Finish();
  if (!found.ok()) return Fail(found.status(), end);
  MissingRows* missing = found->get();
  PrintKafkaDeletions(config, *tables);
  TablePublisher::Options options;
  options.filter.since = arguments.since;
  options.filter.ids = *std::move(ids);
  options.filter.has_ids_of_others = tables->size() > 1;
  options.filter.aggregate_id = arguments.aggregate;
  options.filter.where = arguments.where;
  options.filter.order_by = arguments.order_by;
  options.rows.tables = *std::move(tables);
  options.mark.header = "walpost-replay";
  options.mark.value = "table";
  options.mark.topic_prefix = limits.topic_prefix;
  options.rows.per_second = limits.per_second;
  options.dry_run = limits.dry_run;
  if (options.dry_run) options.rows.on_row = PrintRow;
  options.silence_limit = DeliveryRun::kSilenceLimit;
  options.progress = [&progress](uint64_t done, uint64_t all) {
    progress("replaying the table", done, all);
  };
  if (missing != nullptr) {
    options.rows.is_wanted = [missing](const Event& event,
                                       std::string_view topic) {
      return missing->IsMissing(event, topic);
    };
  }
  const bool settles =
      arguments.missing && !limits.dry_run && !HasFilter(arguments);
  asio::io_context io(1);
  TableReplay replay(io.get_executor(), config, missing);
  const absl::StatusOr<Counts> counts = RunToEnd(
      io, replay.Run(std::move(options), settles ? arguments.table : ""));
  progress.Finish();
  if (!counts.ok()) return Fail(counts.status(), replay.failed_end());
  PrintResult(arguments, *counts, missing, limits.dry_run);
  if (replay.settlement().ok()) return kExitOk;
  return Fail(replay.settlement(), absl::IsAborted(replay.settlement())
                                       ? kExitFindings
                                       : kExitPostgres);
}

}  // namespace walpost
