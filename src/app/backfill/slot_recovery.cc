#include "app/backfill/slot_recovery.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "app/backfill/pending_slot_events.h"
#include "app/sink/sinks.h"
#include "base/status_macros.h"
#include "checkpoint/coverage.h"
#include "fmt/format.h"
#include "log/log.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/system_identity.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Creating a slot waits for every open transaction that has written.
constexpr std::chrono::minutes kSlotLimit{10};

}  // namespace

asio::awaitable<absl::Status> SlotRecovery::Connect() {
  ConnectionOptions options = TaskSession(config_.postgres, "snapshot");
  options.replication = true;
  options.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      sight_, co_await LookAtSlot(*connection_, config_.postgres));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Coverage coverage,
      co_await ReadCoverage(*connection_, config_.postgres.publication,
                            config_.outbox.tables));
  // A publication that is made later has another definition.
  if (!coverage.publication.empty()) coverage_ = coverage.ToString();
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<RecoveryServer>> SlotRecovery::LookAtServer() {
  const std::string sql = fmt::format(
      "SELECT {}, pg_snapshot_xmax(pg_current_snapshot()), "
      "pg_current_wal_insert_lsn()",
      kServerStartSql);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_->Execute(sql));
  RecoveryServer server;
  server.system_identifier = sight_.system_identifier;
  server.timeline = sight_.timeline;
  server.started_at = WallTime(std::chrono::microseconds(rows.Integer(0, 0)));
  server.next_transaction = rows.Unsigned(0, 1);
  server.wal_end = Lsn::Parse(rows.Text(0, 2)).value_or(Lsn());
  co_return server;
}

asio::awaitable<absl::StatusOr<TablePublisher::Counts>> SlotRecovery::Publish(
    TablePublisher::Options options) {
  const bool dry_run = options.dry_run;
  absl::Status status;
  if (dry_run) {
    const std::string begin =
        "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
    status = co_await Execute(begin);
  } else {
    status = co_await MakePublication();
    if (status.ok()) status = co_await TakeSnapshot();
  }
  if (!status.ok()) co_return status;
  EventSet none;
  const Lsn before = dry_run ? Lsn(2) : consistent_point_;
  co_return co_await PublishRows(std::move(options), before, std::move(none));
}

// The snapshot comes first: what it shows and the slot will send is in the WAL
// that is looked through then.
asio::awaitable<absl::StatusOr<TablePublisher::Counts>>
SlotRecovery::PublishBesideSlot(TablePublisher::Options options) {
  const std::string begin =
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
  WALPOST_CO_RETURN_IF_ERROR(co_await Execute(begin));
  WALPOST_CO_ASSIGN_OR_RETURN(EventSet pending, co_await FindPending());
  const Lsn stands = sight_.slot ? sight_.slot->confirmed_flush_lsn : Lsn();
  const Lsn before = std::max(stands, Lsn(2));
  co_return co_await PublishRows(std::move(options), before,
                                 std::move(pending));
}

asio::awaitable<absl::StatusOr<EventSet>> SlotRecovery::FindPending() {
  const std::string now = "SELECT pg_catalog.pg_current_wal_insert_lsn()";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection_->Execute(now));
  WALPOST_CO_ASSIGN_OR_RETURN(const Lsn end, Lsn::Parse(rows.Text(0, 0)));
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<Route> routes,
                              Route::CreateAll(config_.outbox));
  PendingSlotEvents survey(executor_, config_);
  co_return co_await survey.Run(routes, end);
}

asio::awaitable<absl::StatusOr<TablePublisher::Counts>>
SlotRecovery::PublishRows(TablePublisher::Options options, Lsn before,
                          EventSet left_out) {
  options.before = before;
  options.rows.timeline = sight_.timeline;
  options.silence_limit = DeliveryRun::kSilenceLimit;
  if (options.mark.value.empty()) options.mark.value = before.ToString();
  absl::StatusOr<std::unique_ptr<TablePublisher>> publisher =
      TablePublisher::Create(executor_, config_, MakeSinks(executor_, config_),
                             std::move(options));
  if (!publisher.ok()) co_return publisher.status();
  (*publisher)->backfill().SetLeftOut(std::move(left_out));
  absl::StatusOr<TablePublisher::Counts> counts =
      co_await (*publisher)->Publish(*connection_);
  failed_at_kafka_ = (*publisher)->sink_failed();
  if (!counts.ok()) co_return counts.status();
  const std::string commit = "COMMIT";
  WALPOST_CO_RETURN_IF_ERROR(co_await Execute(commit));
  co_return *counts;
}

asio::awaitable<absl::Status> SlotRecovery::Execute(std::string sql) {
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  co_return rows.status();
}

// A slot cannot see a publication that is younger than the slot.
asio::awaitable<absl::Status> SlotRecovery::MakePublication() {
  const std::string& name = config_.postgres.publication;
  absl::StatusOr<bool> exists = co_await PublicationExists(*connection_, name);
  if (!exists.ok() || *exists) co_return exists.status();
  if (!config_.postgres.create) {
    co_return absl::FailedPreconditionError(fmt::format(
        "publication {} does not exist: walpost init -c FILE --admin CONNINFO, "
        "or {}",
        name,
        CreatePublicationSql(name, config_.outbox.tables,
                             connection_->server_version())));
  }
  LogInfo("creating publication {}", name);
  co_return co_await CreatePublication(*connection_, name,
                                       config_.outbox.tables);
}

asio::awaitable<absl::Status> SlotRecovery::TakeSnapshot() {
  temporary_ = fmt::format("walpost_founding_{}", getpid());
  const std::string begin =
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
  WALPOST_CO_RETURN_IF_ERROR(co_await Execute(begin));
  const MonotonicTime deadline = Clock::now() + kSlotLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(
      consistent_point_,
      co_await CreateSlot(*connection_, temporary_, SlotKind::kTemporary,
                          SlotSnapshot::kUse, SlotFailover::kNo, deadline));
  co_return absl::OkStatus();
}

// The old slot is dropped only now. After a crash between the two steps, the
// birth record shows that there was one.
asio::awaitable<absl::Status> SlotRecovery::Keep(Founding founding) {
  const std::string name = connection_->Literal(config_.postgres.slot);
  absl::Status status;
  if (sight_.slot) {
    status = co_await DropSlot(*connection_, config_.postgres.slot);
    if (!status.ok()) co_return status;
  }
  const std::string copy =
      fmt::format("SELECT pg_copy_logical_replication_slot({}, {}, false)",
                  connection_->Literal(temporary_), name);
  status = co_await Execute(copy);
  if (!status.ok()) co_return status;
  if (config_.postgres.failover) {
    status = co_await SetFailover(*connection_, config_.postgres.slot);
    if (!status.ok()) co_return status;
  }
  const std::string& publication = config_.postgres.publication;
  absl::StatusOr<BirthRecord> record =
      co_await DescribeBirth(*connection_, publication, config_.outbox.tables,
                             config_.postgres.slot, consistent_point_);
  if (!record.ok()) co_return record.status();
  if (founding.all_published) {
    NoteAllPublished(*record);
  } else if (founding.before && founding.before->streamed_from > 0) {
    ContinueProof(*record, *founding.before);
  }
  record->coverage = CarryPassedOver(record->coverage, founding.known_coverage);
  record->kafka_cluster = founding.kafka_cluster;
  status = co_await WriteBirthRecord(*connection_, publication, *record);
  if (!status.ok()) {
    LogWarn("the birth of slot {} is not on record: {}", config_.postgres.slot,
            std::string(status.message()));
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
