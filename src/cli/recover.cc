// walpost recover: after a gap, publishes what Kafka lacks and begins again.
#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "app/backfill/read_events_on_record.h"
#include "app/backfill/slot_recovery.h"
#include "app/checkpoint/checkpoint_service.h"
#include "app/sink/sinks.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint_scope.h"
#include "checkpoint/coverage.h"
#include "cli/recovery/missing_rows.h"
#include "cli/recovery/only_in_slot.h"
#include "cli/recovery/recovery_plan.h"
#include "cli/shared/confirmed_by.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/progress_line.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/row_lines.h"
#include "cli/shared/slot_inspection.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/config.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/run_to_end.h"
#include "outbox/numbering.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

absl::Status CheckSlot(const Config& config, const SlotInspection& inspection) {
  const std::string& slot = config.postgres.slot;
  const char* trouble = nullptr;
  if (!inspection.diagnosis.slot) {
    trouble = "does not exist";
  } else if (inspection.diagnosis.slot->wal_status == "lost") {
    trouble = "is lost";
  }
  if (trouble == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "slot {} {}: there is no slot to continue with. Run walpost recover -c "
      "FILE, which publishes the rows that are missing and makes a new slot; "
      "or walpost init -c FILE --fresh, which makes one without them",
      slot, trouble));
}

asio::awaitable<absl::Status> ReplaceBirthRecord(
    Connection& connection, const Config& config,
    const SlotInspection& inspection, const BirthRecord& record) {
  const std::string& publication = config.postgres.publication;
  const absl::Status written =
      co_await WriteBirthRecord(connection, publication, record);
  if (inspection.diagnosis.birth && absl::IsFailedPrecondition(written)) {
    // It would report the gap again.
    co_return absl::FailedPreconditionError(fmt::format(
        "the gap of slot {} stays on record, because this role does not own "
        "publication {}: run the same as its owner, with --set "
        "postgres.conninfo='... user=OWNER'",
        record.slot, publication));
  }
  if (inspection.diagnosis.birth && !written.ok()) co_return written;
  if (!written.ok()) {
    LogWarn("the birth of slot {} is not on record: {}", record.slot,
            std::string(written.message()));
  }
  co_return absl::OkStatus();
}

// `walpost recover --accept`: continue with the slot as it stands.
//
// Nothing is published. The gap is removed from the record: the birth record
// and the checkpoint are replaced by new ones, without the gap. Earlier rows
// have no proof any more that they were sent, so retention keeps them.
//
// kFailedPrecondition: there is no slot to continue with; or the publication
// has a record that the role may not replace, with the SQL for its owner.
asio::awaitable<absl::Status> AcceptGap(asio::any_io_executor executor,
                                        const Config& config,
                                        SlotInspection inspection) {
  absl::Status status = CheckSlot(config, inspection);
  if (!status.ok()) co_return status;
  const Lsn stands = inspection.diagnosis.slot->confirmed_flush_lsn;
  const ConnectionOptions options = TaskSession(config.postgres, "recover");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      BirthRecord record,
      co_await DescribeBirth(*connection, config.postgres.publication,
                             config.outbox.tables, config.postgres.slot,
                             stands));
  record.kafka_cluster = inspection.kafka_cluster;
  record.coverage = CarryPassedOver(WithoutMissingTables(record.coverage),
                                    inspection.diagnosis.known_coverage);
  // The slot continues at its position. That is not its beginning, or an
  // initial snapshot would assume that nothing was streamed yet.
  const std::optional<BirthRecord>& before = inspection.diagnosis.birth;
  if (before && before->system_identifier == record.system_identifier) {
    record.consistent_point = std::min(before->consistent_point, stands);
  }
  status = co_await ReplaceBirthRecord(*connection, config, inspection, record);
  if (!status.ok()) co_return status;
  CheckpointScope begin;
  begin.system_identifier = record.system_identifier;
  begin.timeline = record.timeline;
  begin.slot = config.postgres.slot;
  begin.birth = stands;
  begin.numbering = NumberingOf(config.outbox, config.postgres.publication);
  begin.coverage = record.coverage;
  begin.kafka_cluster = record.kafka_cluster;
  Checkpoint checkpoint = BeginAtBirth(std::move(begin));
  co_return co_await StoreCheckpoint(executor, config, std::move(checkpoint));
}

using Counts = TablePublisher::Counts;

struct Arguments {
  ConfigArguments config;
  RecoveryOptions wish;
  std::string order_by;
  std::string work_directory;
  bool expired = false;
};

absl::StatusOr<Config> LoadConfig(const Arguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return config;
  absl::Status status = RequireBothEnds(*config);
  if (status.ok()) {
    status = RequireWalSource(*config, "recover",
                              "pending rows are published without it");
  }
  if (!status.ok()) return status;
  return config;
}

// Empty with --since, which publishes all rows.
absl::StatusOr<MissingRows> FindMissing(const Arguments& arguments,
                                        const Config& config,
                                        const RecoveryPlan& plan,
                                        ProgressLine& progress, ExitCode& end) {
  if (!arguments.wish.since.empty()) return MissingRows(nullptr);
  const absl::Status readable = RequireReadableSink(
      config, "recover",
      "walpost recover -c FILE --since TIME, as in 1h, publishes all rows of "
      "that time again, whether they were sent or not; --accept continues "
      "without them");
  if (!readable.ok()) {
    end = kExitUsage;
    return readable;
  }
  ConfirmedBy confirmed =
      ConfirmedByOf(config, plan.inspection.diagnosis.birth);
  confirmed.delivered_before = plan.range.from_transaction;
  return ReadPublished(config, config.outbox, std::move(confirmed),
                       arguments.expired ? MissingRows::Expired::kMissing
                                         : MissingRows::Expired::kNotMissing,
                       arguments.work_directory, progress, end);
}

// Sets `end` to the end that failed.
asio::awaitable<absl::StatusOr<Counts>> Recover(
    asio::any_io_executor executor, const Config& config,
    const Arguments& arguments, const RecoveryPlan& plan,
    const MissingRows& missing, TablePublisher::Options options,
    OnlyInSlot& only, ExitCode& end) {
  SlotRecovery founder(executor, config);
  WALPOST_CO_RETURN_IF_ERROR(co_await founder.Connect());
  if (founder.slot() && founder.slot()->active) {
    co_return SlotIsInUse(config);
  }
  OnRecordQuery query;
  query.verb = "recover";
  query.system_identifier = founder.system_identifier();
  query.if_unknown = config.parks() ? ParkedList::IfUnknown::kRefuse
                                    : ParkedList::IfUnknown::kEmpty;
  bool failed_at_kafka = false;
  absl::StatusOr<EventsOnRecord> on_record =
      co_await ReadEventsOnRecord(executor, config, query, &failed_at_kafka);
  if (failed_at_kafka) end = kExitKafka;
  if (!on_record.ok()) co_return on_record.status();
  const bool has_gap =
      plan.inspection.diagnosis.kind == GapDiagnosis::Kind::kGap;
  if (has_gap && !arguments.wish.force) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        only, co_await FindOnlyInSlot(executor, config, plan.inspection,
                                      *on_record, options.filter, founder));
  }
  options.rows.on_record = *std::move(on_record);
  if (only.events > 0) {
    const absl::StatusOr<Counts> counts =
        co_await founder.PublishBesideSlot(std::move(options));
    if (founder.failed_at_kafka()) end = kExitKafka;
    if (!counts.ok() || arguments.wish.dry_run) co_return counts;
    WALPOST_CO_RETURN_IF_ERROR(
        co_await AcceptGap(executor, config, plan.inspection));
    co_return counts;
  }
  const absl::StatusOr<Counts> counts =
      co_await founder.Publish(std::move(options));
  if (founder.failed_at_kafka()) end = kExitKafka;
  if (!counts.ok() || arguments.wish.dry_run) co_return counts;
  // Before the slot: after a crash between the two, the slot is still missing.
  CheckpointScope begin;
  begin.system_identifier = founder.system_identifier();
  begin.timeline = founder.timeline();
  begin.slot = config.postgres.slot;
  begin.birth = founder.consistent_point();
  begin.numbering = NumberingOf(config.outbox, config.postgres.publication);
  begin.kafka_cluster = plan.inspection.kafka_cluster;
  begin.coverage = CarryPassedOver(founder.coverage(),
                                   plan.inspection.diagnosis.known_coverage);
  Checkpoint checkpoint = BeginAtBirth(std::move(begin));
  const absl::Status stored =
      co_await StoreCheckpoint(executor, config, std::move(checkpoint));
  if (!stored.ok()) {
    if (config.checkpoint.is_in_kafka()) end = kExitKafka;
    co_return stored;
  }
  WALPOST_CO_RETURN_IF_ERROR(
      co_await founder.Keep(FoundingOf(plan, arguments.wish, missing)));
  co_return counts;
}

void PrintResult(const Arguments& arguments, const Config& config,
                 const Counts& counts, const MissingRows& missing,
                 const OnlyInSlot& only) {
  const std::string what =
      arguments.wish.since.empty() ? "are not published" : "are wanted";
  if (arguments.wish.dry_run) {
    Print("{} rows looked at, {} {}{}; nothing was done\n", counts.rows,
          counts.published, what, SetAsideText(counts));
  } else {
    Print(
        "{} rows looked at, {} published with header walpost-recovered{}; slot "
        "{} {}: start walpost\n",
        counts.rows, counts.published, SetAsideText(counts),
        config.postgres.slot,
        only.events > 0 ? "goes on where it stood" : "is new");
  }
  Print("{}", OnlyInSlotText(only, config.postgres.slot));
  Print("{}", LeftOutText(counts));
  Print("{}", missing.ToText());
  if (only.events > 0) return;
  Print("not recoverable: rows that were deleted since{}\n",
        config.outbox.messages.enabled() ? ", and logical messages" : "");
}

// A server of which nothing is known may be another one, too.
void PrintForConsumers(const RecoveryPlan& plan) {
  const GapDiagnosis& diagnosis = plan.inspection.diagnosis;
  if (diagnosis.kind == GapDiagnosis::Kind::kNothingKnown ||
      RestartsPositions(diagnosis.gap)) {
    Print("{}\n", kForgetPositions);
  }
}

int Accept(const Config& config, const RecoveryPlan& plan) {
  asio::io_context io(1);
  const absl::Status accepted =
      RunToEnd(io, AcceptGap(io.get_executor(), config, plan.inspection));
  if (!accepted.ok()) return Fail(accepted, kExitPostgres);
  Print(
      "accepted: walpost continues where slot {} stands; nothing was "
      "published. Start walpost; {}\n",
      config.postgres.slot,
      RequireReadableSink(config, "verify").ok()
          ? "walpost verify -c FILE names the rows that are not published"
          : "walpost replay -c FILE --from-table --since TIME, as in 1h, "
            "publishes all rows of that time again");
  PrintForConsumers(plan);
  return kExitOk;
}

int RunPlan(const Arguments& arguments, const Config& config,
            const RecoveryPlan& plan) {
  ProgressLine progress;
  ExitCode end = kExitPostgres;
  absl::StatusOr<MissingRows> missing =
      FindMissing(arguments, config, plan, progress, end);
  progress.Finish();
  if (!missing.ok()) return Fail(missing.status(), end);
  PrintKafkaDeletions(config, {});
  TablePublisher::Options options;
  options.filter.since = arguments.wish.since;
  options.filter.order_by = arguments.order_by;
  options.filter.from_transaction = plan.range.from_transaction;
  options.mark.header = "walpost-recovered";
  options.dry_run = arguments.wish.dry_run;
  if (options.dry_run) options.rows.on_row = PrintRow;
  if (missing->compares()) {
    options.rows.is_wanted = [&missing](const Event& event,
                                        std::string_view topic) {
      return missing->IsMissing(event, topic);
    };
  }
  options.progress = [&progress](uint64_t done, uint64_t all) {
    progress("reading the table", done, all);
  };
  asio::io_context io(1);
  end = kExitPostgres;
  OnlyInSlot only;
  const absl::StatusOr<Counts> counts =
      RunToEnd(io, Recover(io.get_executor(), config, arguments, plan, *missing,
                           std::move(options), only, end));
  progress.Finish();
  if (!counts.ok()) return Fail(counts.status(), end);
  PrintResult(arguments, config, *counts, *missing, only);
  PrintForConsumers(plan);
  return kExitOk;
}

// With --accept, brokers that do not answer are not known.
absl::StatusOr<SeenBrokers> FindBrokers(const Config& config,
                                        const Arguments& arguments) {
  absl::StatusOr<std::string> id = FindClusterId(config);
  if (!id.ok() && arguments.wish.accept) return SeenBrokers();
  if (!id.ok()) return id.status();
  SeenBrokers brokers;
  brokers.cluster = *std::move(id);
  brokers.topic_ids = [&config](const std::set<std::string>& topics) {
    return FindTopicIds(config, topics);
  };
  return brokers;
}

int RunRecover(const Arguments& arguments) {
  absl::StatusOr<Config> config = LoadConfig(arguments);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status expanded = ExpandTables(
      *config, arguments.wish.accept ? WithRecorded::kYes : WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  const absl::StatusOr<SeenBrokers> brokers = FindBrokers(*config, arguments);
  if (!brokers.ok()) return Fail(brokers.status(), kExitKafka);
  asio::io_context io(1);
  const absl::StatusOr<RecoveryPlan> plan = RunToEnd(
      io,
      MakeRecoveryPlan(io.get_executor(), *config, *brokers, arguments.wish));
  if (!plan.ok()) return Fail(plan.status(), kExitPostgres);
  const absl::Status allowed = CheckPlan(*plan, *config, arguments.wish);
  const bool is_denied = arguments.wish.accept && !allowed.ok();
  if (!is_denied) Print("{}", Describe(*plan, *config, arguments.wish));
  std::fflush(stdout);
  if (!allowed.ok()) return Fail(allowed, kExitPostgres);
  if (!arguments.wish.accept) return RunPlan(arguments, *config, *plan);
  if (!arguments.wish.dry_run) return Accept(*config, *plan);
  PrintForConsumers(*plan);
  return kExitOk;
}

}  // namespace

void AddRecover(CLI::App& app, int& exit_code) {
  Verb verb(
      app, "recover",
      "After a gap: publish the rows that are missing, and make a new slot");
  auto arguments = std::make_shared<Arguments>();
  RecoveryOptions& wish = arguments->wish;
  arguments->config.AddTo(verb);
  verb.Flag("--dry-run", wish.dry_run, "Only print and count");
  const VerbOption accept = verb.Flag(
      "--accept", wish.accept,
      "Publish nothing: clear the gap, and continue where the slot stands");
  verb.Flag("--force", wish.force,
            "Replace the slot even if no gap is diagnosed, or if it has events "
            "that no table has: they are lost")
      .Excludes(accept);
  verb.Flag("--all", wish.all,
            "Compare all rows, not only those of transactions after the "
            "checkpoint")
      .Excludes(accept);
  verb.Option("--since", wish.since,
              "Publish all rows since this time (1h: an hour ago), "
              "whether they were sent or not")
      .Excludes(accept);
  verb.Flag("--expired", arguments->expired,
            "Also publish rows whose records were deleted (retention, "
            "compaction)")
      .Excludes(accept);
  verb.Option("--order-by", arguments->order_by,
              "Column that gives the order of the rows (an integer id, a "
              "sequence, the transaction id, the creation time)")
      .Excludes(accept);
  verb.Option("--work-directory", arguments->work_directory,
              "Folder of the temporary database ($TMPDIR, else /tmp)");
  verb.Footer(
      "Exit codes: 0 done, 2 usage, 3 Postgres, or nothing to recover from, 4 "
      "the brokers.");
  verb.Callback(
      [arguments, &exit_code] { exit_code = RunRecover(*arguments); });
}

}  // namespace walpost
