#include "app/backfill/snapshot_session.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/checkpoint/checkpoint_service.h"
#include "base/finding_id.h"
#include "base/server_version.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "base/xid.h"
#include "checkpoint/settled_table.h"
#include "fmt/format.h"
#include "log/log.h"
#include "outbox/route.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/unsent_rows.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Creating a slot waits for every open transaction that has written.
constexpr std::chrono::minutes kSlotLimit{10};

}  // namespace

asio::awaitable<absl::StatusOr<SlotHistory>> SnapshotSession::Open() {
  absl::Status status = co_await Connect();
  if (status.ok() && interrupted_) {
    status = absl::CancelledError("told to end");
  }
  if (status.ok()) status = co_await PinSettings();
  if (!status.ok()) co_return status;
  co_return co_await FindHistory();
}

asio::awaitable<absl::Status> SnapshotSession::Connect() {
  ConnectionOptions options = TaskSession(config_.postgres, "snapshot");
  options.replication = true;
  options.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  co_return absl::OkStatus();
}

// A slow Kafka makes the transaction long: no limit of the role, the database
// or the server may terminate it.
asio::awaitable<absl::Status> SnapshotSession::PinSettings() {
  std::vector<std::string> names = {"idle_in_transaction_session_timeout",
                                    "idle_session_timeout", "statement_timeout",
                                    "lock_timeout"};
  if (connection_->server_version() >= kFirstWithTransactionTimeout) {
    names.emplace_back("transaction_timeout");
  }
  for (const std::string& name : names) {
    const std::string sql = fmt::format("SET {} = 0", name);
    WALPOST_CO_RETURN_IF_ERROR(co_await Execute(sql));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<SlotHistory>> SnapshotSession::FindHistory() {
  WALPOST_CO_ASSIGN_OR_RETURN(
      sight_, co_await LookAtSlot(*connection_, config_.postgres));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const SlotHistory history,
      co_await FindStreamHistory(executor_, config_, sight_));
  new_tables_.clear();
  if (history == SlotHistory::kUsed) {
    WALPOST_CO_RETURN_IF_ERROR(co_await FindNewTables());
  }
  co_return history;
}

// As ContinuityState judges them, which latches the gaps.
asio::awaitable<absl::Status> SnapshotSession::FindNewTables() {
  WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<Checkpoint> checkpoint,
                              co_await ReadCheckpoint(executor_, config_));
  const std::optional<BirthRecord>& birth = sight_.birth;
  const bool has_gap = (checkpoint && !checkpoint->gap.empty()) ||
                       (birth && !birth->gap.empty());
  if (has_gap) co_return absl::OkStatus();
  std::string known = birth ? CoverageOf(*birth, Announced::kNo) : "";
  if (checkpoint) known = MergeCoverage(checkpoint->coverage, known);
  if (known.empty()) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Coverage now,
      co_await ReadCoverage(*connection_, config_.postgres.publication,
                            config_.outbox.tables));
  const Coverage before = Coverage::Parse(known);
  const Lsn stands = sight_.slot->confirmed_flush_lsn;
  const Lsn resumes_at =
      checkpoint ? std::max(stands, checkpoint->confirmed) : stands;
  const std::vector<Coverage::Table> added = AddedTables(before, now);
  for (const Coverage::Table& table : added) {
    const Coverage only{now.publication, {table}};
    bool was_passed_over = !PassedTables(before, only, resumes_at).empty();
    if (!was_passed_over && !before.passed_over.is_complete()) {
      WALPOST_CO_ASSIGN_OR_RETURN(was_passed_over,
                                  co_await WasPassedOver(table.name));
    }
    const bool exists = !table.definition.empty();
    if (exists && !was_passed_over) new_tables_.push_back(table);
  }
  co_return absl::OkStatus();
}

// An older release, or a role that may not write the record, has not kept it.
asio::awaitable<absl::StatusOr<bool>> SnapshotSession::WasPassedOver(
    std::string table) {
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<Route> routes,
                              Route::CreateAll(config_.outbox));
  const std::vector<std::vector<std::string>> references = ReferencesOf(routes);
  const size_t index = IndexOf(config_.outbox, table);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const UnsentRows unsent,
      co_await CountUnsentRows(*connection_, config_.postgres, config_.outbox,
                               references, index, Lsn()));
  co_return unsent.was_published;
}

bool SnapshotSession::IsMeant(const std::string& table) const {
  return new_tables_.empty() ||
         std::ranges::count(new_tables_, table, &Coverage::Table::name) > 0;
}

// The first statement fixes what the transaction shows.
asio::awaitable<absl::Status> SnapshotSession::Begin(SlotHistory history) {
  is_exact_ = history == SlotHistory::kNone;
  target_.tables = new_tables_;
  target_.system_identifier = sight_.system_identifier;
  WALPOST_CO_RETURN_IF_ERROR(co_await BeginTransaction(history));
  const std::string sql = "SELECT pg_catalog.pg_current_wal_insert_lsn()";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_->Execute(sql));
  WALPOST_CO_ASSIGN_OR_RETURN(visible_before_, Lsn::Parse(rows.Text(0, 0)));
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> SnapshotSession::Check() {
  const std::string sql = "SELECT";
  co_return co_await Execute(sql);
}

// Leaves a transaction open that shows the rows to publish.
asio::awaitable<absl::Status> SnapshotSession::BeginTransaction(
    SlotHistory history) {
  const bool is_ours =
      history == SlotHistory::kUnknown && SlotBeginsAt(made_at_);
  if (history == SlotHistory::kUnknown && !is_ours) co_return UnknownSlot();
  absl::Status status = co_await Lock();
  if (status.ok()) status = co_await RequireReadableTables();
  if (!status.ok()) co_return status;
  if (history == SlotHistory::kNone) {
    status = co_await RequireOwnPublication();
    if (status.ok()) status = co_await MakeSlot();
    if (status.ok()) status = co_await RecordBirth();
    co_return status;
  }
  if (is_ours) {
    status = co_await RecordBirth();
    if (!status.ok()) co_return status;
  }
  target_.stands_at = sight_.slot->confirmed_flush_lsn;
  target_.begins_at = target_.stands_at;
  if (!new_tables_.empty() && sight_.birth) {
    target_.begins_at = sight_.birth->consistent_point;
  }
  const std::string begin =
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
  co_return co_await Execute(begin);
}

// If two instances start at the same time, the second one is a standby.
asio::awaitable<absl::Status> SnapshotSession::Lock() {
  const std::string& slot = config_.postgres.slot;
  const std::string sql = fmt::format(
      "SELECT pg_catalog.pg_try_advisory_lock("
      "pg_catalog.hashtext('walpost snapshot'), pg_catalog.hashtext({}))",
      connection_->Literal(slot));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_->Execute(sql));
  const bool is_active = sight_.slot && sight_.slot->active;
  if (rows.Bool(0, 0) && !is_active) co_return absl::OkStatus();
  const std::string text = fmt::format("slot {} is in use", slot);
  const absl::Status in_use = absl::UnavailableError(text);
  co_return WithSqlstate(in_use, kSqlstateObjectInUse);
}

// Checked before a slot exists that keeps WAL for nothing: the right to read,
// and a column to sort by.
asio::awaitable<absl::Status> SnapshotSession::RequireReadableTables() {
  const std::string begin = "BEGIN READ ONLY";
  WALPOST_CO_RETURN_IF_ERROR(co_await Execute(begin));
  absl::Status status;
  for (const TableOptions& table : config_.outbox.tables) {
    if (!IsMeant(table.name)) continue;
    if (status.ok()) status = co_await RequireReadable(table);
  }
  const std::string end = "ROLLBACK";
  WALPOST_CO_RETURN_IF_ERROR(co_await Execute(end));
  co_return status;
}

asio::awaitable<absl::Status> SnapshotSession::RequireReadable(
    TableOptions table) {
  const std::string name = table.name;
  TableScan scan(*connection_, std::move(table), TableFilter());
  const absl::Status opened = co_await scan.Open();
  if (opened.ok()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await scan.Close());
    co_return co_await RequireOrigins(scan, name);
  }
  if (absl::IsUnavailable(opened)) co_return opened;
  const absl::Status unreadable = absl::FailedPreconditionError(
      fmt::format("snapshot: initial reads table {}, and cannot: {}", name,
                  std::string(opened.message())));
  co_return WithFindingId(unreadable, FindingId("snapshot_table_unreadable"));
}

asio::awaitable<absl::Status> SnapshotSession::RequireOrigins(
    TableScan& scan, std::string table) {
  if (config_.outbox.origin == OriginFilter::kAny) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(const bool is_unknown,
                              co_await scan.HasUnknownOrigin());
  if (!is_unknown) co_return absl::OkStatus();
  const absl::Status unknown = absl::FailedPreconditionError(fmt::format(
      "snapshot: initial publishes the rows of table {} that were not "
      "replicated (postgres.origin: none), and the origin of some is not "
      "known: {}. Start walpost once with --set postgres.origin=any, which "
      "publishes all rows; or set snapshot: never, and choose rows with "
      "walpost replay -c FILE --from-table --where CONDITION --set "
      "postgres.origin=any",
      table, kWhyOriginIsUnknown));
  co_return WithFindingId(unknown, FindingId("snapshot_origin_unknown"));
}

// Without the record, a slot that is dropped later would be created again, and
// everything committed in between would be lost. A slot cannot see a
// publication that is younger than the slot, so the publication comes first.
asio::awaitable<absl::Status> SnapshotSession::RequireOwnPublication() {
  const std::string& name = config_.postgres.publication;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const PublicationRights rights,
      co_await FindPublicationRights(*connection_, name));
  if (!rights.exists) {
    LogInfo("creating publication {}", name);
    co_return co_await CreatePublication(*connection_, name,
                                         config_.outbox.tables);
  }
  co_return rights.may_alter ? absl::OkStatus() : NotOwner(rights.role);
}

absl::Status SnapshotSession::NotOwner(const std::string& role) const {
  const absl::Status status = absl::FailedPreconditionError(fmt::format(
      "snapshot: initial: slot {} does not exist, and role {} cannot put on "
      "record that it makes it, because it does not own publication {}: run "
      "walpost init -c FILE --admin CONNINFO as the owner of the publication, "
      "then start walpost again; it publishes the rows",
      config_.postgres.slot, role, config_.postgres.publication));
  return WithFindingId(status, FindingId(kFindingBirthRecordNotWritable));
}

asio::awaitable<absl::Status> SnapshotSession::CheckBefore() {
  WALPOST_CO_ASSIGN_OR_RETURN(const SlotHistory history, co_await Open());
  const bool is_missing = history == SlotHistory::kNone;
  if (history == SlotHistory::kUnknown) co_return UnknownSlot();
  const bool is_over = history == SlotHistory::kUsed && new_tables_.empty();
  if (history == SlotHistory::kMissing || is_over ||
      (is_missing && !config_.postgres.create)) {
    co_return absl::OkStatus();  // there is no snapshot
  }
  WALPOST_CO_RETURN_IF_ERROR(co_await RequireReadableTables());
  if (!is_missing) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(const PublicationRights rights,
                              co_await FindPublicationRights(
                                  *connection_, config_.postgres.publication));
  const bool may = !rights.exists || rights.may_alter;
  co_return may ? absl::OkStatus() : NotOwner(rights.role);
}

asio::awaitable<absl::Status> SnapshotSession::MakeSlot() {
  const std::string begin =
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
  WALPOST_CO_RETURN_IF_ERROR(co_await Execute(begin));
  const std::string& slot = config_.postgres.slot;
  const SlotFailover failover =
      config_.postgres.failover ? SlotFailover::kYes : SlotFailover::kNo;
  const MonotonicTime deadline = Clock::now() + kSlotLimit;
  LogInfo("creating slot {}", slot);
  const absl::StatusOr<Lsn> point =
      co_await CreateSlot(*connection_, slot, SlotKind::kPermanent,
                          SlotSnapshot::kUse, failover, deadline);
  if (!point.ok() && interrupted_) {
    co_return absl::CancelledError("told to end");
  }
  if (!point.ok()) co_return point.status();
  made_at_ = *point;
  target_.begins_at = *point;
  target_.stands_at = *point;
  co_return absl::OkStatus();
}

// On a separate connection: the other one holds the snapshot, and may only
// read.
asio::awaitable<absl::Status> SnapshotSession::RecordBirth() {
  const ConnectionOptions options = TaskSession(config_.postgres, "snapshot");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> scribe,
                              co_await Connection::Connect(executor_, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      BirthRecord record,
      co_await DescribeBirth(*scribe, config_.postgres.publication,
                             config_.outbox.tables, config_.postgres.slot,
                             made_at_));
  co_return co_await WriteBirthRecord(*scribe, config_.postgres.publication,
                                      record);
}

asio::awaitable<absl::Status> SnapshotSession::End() {
  const std::string commit = "COMMIT";
  co_return co_await Execute(commit);
}

// Rows that committed between the two slots are in neither.
asio::awaitable<absl::Status> SnapshotSession::Record() {
  absl::StatusOr<ObservedSlot> looked =
      co_await LookAtSlot(*connection_, config_.postgres);
  // Without an answer it may be another slot.
  if (!looked.ok()) co_return absl::UnavailableError(looked.status().message());
  sight_ = *std::move(looked);
  if (sight_.system_identifier != target_.system_identifier ||
      !SlotBeginsAt(target_.stands_at)) {
    co_return absl::AbortedError(fmt::format(
        "slot {}, which begins at {}, was dropped during the initial snapshot, "
        "or another walpost has moved it",
        config_.postgres.slot, target_.stands_at.ToString()));
  }
  if (!sight_.birth || sight_.birth->consistent_point != target_.begins_at) {
    co_return absl::NotFoundError("there is no birth record");
  }
  co_return co_await WriteBirthRecord(
      *connection_, config_.postgres.publication, RecordOf(*sight_.birth));
}

BirthRecord SnapshotSession::RecordOf(BirthRecord record) const {
  if (target_.tables.empty()) {
    NoteAllPublished(record);
    return record;
  }
  // An older release did not say which other tables were taken up.
  if (!record.added) return record;
  for (const Coverage::Table& table : target_.tables) {
    record = Settle(record,
                    {table, kFirstTransaction, WallTime(), target_.stands_at});
  }
  return record;
}

bool SnapshotSession::SlotBeginsAt(Lsn begin) const {
  return sight_.slot && begin.is_valid() &&
         sight_.slot->confirmed_flush_lsn == begin;
}

bool SnapshotSession::is_lost() const {
  return connection_ == nullptr ||
         PQstatus(connection_->raw()) == CONNECTION_BAD;
}

void SnapshotSession::Interrupt() {
  interrupted_ = true;
  if (connection_ != nullptr) connection_->Interrupt();
}

absl::Status SnapshotSession::UnknownSlot() const {
  const absl::Status status = absl::FailedPreconditionError(fmt::format(
      "snapshot: initial: slot {0} exists, and publication {1} has no record "
      "of "
      "its birth, so walpost cannot know whether its "
      "events were published. If nothing was streamed from it yet: walpost "
      "init -c FILE "
      "--admin CONNINFO as the owner of the publication puts it on record, and "
      "the next start publishes the rows. If it was streamed from: set "
      "snapshot: never",
      config_.postgres.slot, config_.postgres.publication));
  return WithFindingId(status, FindingId("snapshot_slot_unknown"));
}

asio::awaitable<absl::Status> SnapshotSession::Execute(std::string sql) {
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  co_return rows.status();
}

}  // namespace walpost
