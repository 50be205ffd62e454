#include "cli/replay_table.h"

#include <boost/asio/io_context.hpp>
#include <sstream>

#include "app/read_events_on_record.h"
#include "app/table_publisher.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/row_lines.h"
#include "cli/run_to_end.h"
#include "config/read_file.h"
#include "fmt/format.h"
#include "kafka/kafka_sinks.h"
#include "postgres/table_scan.h"

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

// Sets `end` to the end that failed.
asio::awaitable<absl::StatusOr<Counts>> Publish(asio::any_io_executor executor,
                                                const Config& config,
                                                TablePublisher::Options options,
                                                ExitCode& end) {
  ConnectionOptions connection;
  connection.server = config.postgres.server;
  connection.application_name = "walpost:replay";
  connection.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::unique_ptr<Connection> connected,
      co_await Connection::Connect(executor, connection));
  const std::string begin =
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows begun,
                              co_await connected->Execute(begin));
  if (options.filter.ids.empty()) {
    OnRecordQuery query;
    query.verb = "replay";
    query.if_unknown = ParkedList::IfUnknown::kEmpty;
    bool failed_at_kafka = false;
    absl::StatusOr<EventsOnRecord> on_record =
        co_await ReadEventsOnRecord(executor, config, query, &failed_at_kafka);
    if (failed_at_kafka) end = kExitKafka;
    if (!on_record.ok()) co_return on_record.status();
    options.on_record = *std::move(on_record);
  }
  absl::StatusOr<std::unique_ptr<TablePublisher>> publisher =
      TablePublisher::Create(executor, config,
                             KafkaSinks(executor, config.kafka),
                             std::move(options));
  if (!publisher.ok()) co_return publisher.status();
  const absl::StatusOr<Counts> counts =
      co_await (*publisher)->Publish(*connected);
  if ((*publisher)->sink_failed()) end = kExitKafka;
  co_return counts;
}

}  // namespace

VerbOption AddTableReplayOptions(Verb& verb, TableReplayArguments& arguments) {
  const VerbOption from_table =
      verb.Flag("--from-table", arguments.from_table,
                "Publish rows of the outbox table, not the WAL");
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
  absl::StatusOr<std::vector<std::string>> ids = ReadIds(arguments.ids_file);
  if (!ids.ok()) return Fail(ids.status(), kExitUsage);
  ProgressLine progress;
  TablePublisher::Options options;
  options.filter.since = arguments.since;
  options.filter.ids = *std::move(ids);
  options.filter.aggregate_id = arguments.aggregate;
  options.filter.where = arguments.where;
  options.filter.order_by = arguments.order_by;
  options.mark.header = "walpost-replay";
  options.mark.value = "table";
  options.mark.topic_prefix = limits.topic_prefix;
  options.per_second = limits.per_second;
  options.dry_run = limits.dry_run;
  if (options.dry_run) options.on_row = PrintRow;
  options.silence_limit = DeliveryRun::kSilenceLimit;
  options.progress = [&progress](uint64_t done, uint64_t all) {
    progress("replaying the table", done, all);
  };
  asio::io_context io(1);
  ExitCode end = kExitPostgres;
  const absl::StatusOr<Counts> counts =
      RunToEnd(io, Publish(io.get_executor(), config, std::move(options), end));
  progress.Finish();
  if (!counts.ok()) return Fail(counts.status(), end);
  Print("{} rows {}{}\n{}", counts->published,
        limits.dry_run ? "would be replayed" : "replayed",
        SetAsideText(*counts), LeftOutText(counts->left_out));
  return kExitOk;
}

}  // namespace walpost
