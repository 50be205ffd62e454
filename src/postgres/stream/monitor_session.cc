#include "postgres/stream/monitor_session.h"

#include <limits>
#include <random>
#include <utility>

#include "base/read_refusal.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/publication_comment.h"
#include "postgres/connect/instance_name.h"
#include "postgres/connect/session_wait.h"
#include "postgres/connect/system_identity.h"
#include "postgres/parking/parked_table_record.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/decision_record.h"
#include "postgres/slot/replay_window_slot.h"
#include "postgres/slot/slot_holder.h"
#include "postgres/tables/updated_rows.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Limit for the answer to a statement.
constexpr std::chrono::seconds kAnswerLimit{10};

RetainedWal ReadRetainedWal(const QueryRows& rows, size_t retained_column,
                            size_t safe_column) {
  RetainedWal wal;
  const std::string retained = rows.Text(0, retained_column);
  wal.retained_bytes = std::strtoull(retained.c_str(), nullptr, 10);
  if (rows.Get(0, safe_column)) {
    const std::string safe = rows.Text(0, safe_column);
    wal.safe_wal_size = std::strtoll(safe.c_str(), nullptr, 10);
  }
  return wal;
}

HorizonSample ReadHorizon(const QueryRows& rows, size_t first_column) {
  HorizonSample sample;
  constexpr Lsn kNever(std::numeric_limits<uint64_t>::max());
  sample.wal_end = Lsn::Parse(rows.Text(0, first_column)).value_or(kNever);
  const std::string xmin = rows.Text(0, first_column + 1);
  const std::string started = rows.Text(0, first_column + 2);
  sample.horizon.transaction_id = std::strtoull(xmin.c_str(), nullptr, 10);
  sample.horizon.server_started_at = WallTime(
      std::chrono::microseconds(std::strtoll(started.c_str(), nullptr, 10)));
  return sample;
}

std::vector<std::string> NamesOf(const std::vector<TableOptions>& tables) {
  std::vector<std::string> names;
  for (const TableOptions& table : tables) names.push_back(table.name);
  return names;
}

}  // namespace

MonitorSession::MonitorSession(asio::any_io_executor executor,
                               const WalSourceOptions& options,
                               const OutboxOptions& outbox,
                               const std::vector<Route>& routes,
                               std::string parking_table,
                               std::function<void()> on_server_shutdown,
                               std::function<void(const SlotReport&)> on_report)
    : executor_(executor),
      server_(options.server),
      slot_(options.slot),
      publication_name_(options.publication),
      parking_table_(std::move(parking_table)),
      tables_(outbox.tables),
      routes_(routes),
      on_server_shutdown_(std::move(on_server_shutdown)),
      on_report_(std::move(on_report)),
      publication_(options, outbox, routes),
      partitions_(outbox.tables),
      updates_(NamesOf(outbox.tables)),
      retry_timer_(executor),
      backoff_(Backoff::Options{}, std::random_device()()) {}

asio::awaitable<void> MonitorSession::Run() {
  reported_at_ = Clock::now();
  looked_from_ = reported_at_;
  while (!stopped_) {
    const absl::Status status = co_await Serve();
    connection_.reset();
    slot_creation_.clear();
    session_wait_.clear();
    if (stopped_) break;
    if (SqlstateOf(status) == kSqlstateCannotConnectNow) {
      on_server_shutdown_();
    }
    trouble_ = status;
    retry_timer_.expires_after(backoff_.Next());
    co_await retry_timer_.async_wait(kAsTuple);
  }
}

std::string MonitorSession::unseen_because() const {
  if (!trouble_.ok()) return std::string(trouble_.message());
  if (connection_ == nullptr) return "the session has not begun";
  return fmt::format(
      "Postgres does not answer its session (pid {}): is the backend frozen, "
      "or the network cut?",
      PQbackendPID(connection_->raw()));
}

void MonitorSession::Stop() {
  stopped_ = true;
  retry_timer_.cancel();
  if (connection_ != nullptr) connection_->waiter().Wake();
}

asio::awaitable<absl::Status> MonitorSession::Serve() {
  ConnectionOptions options;
  options.server = server_;
  // SlotHolder finds the session by this name.
  options.application_name =
      InstanceName::OfThisProcess(slot_).text() + ":side";
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  updates_.OnConnected();
  absl::Status status = co_await ReadSystem();
  while (status.ok() && !stopped_) {
    status = co_await LookAtCreation();
    if (status.ok()) status = co_await LookAtWait();
    if (status.ok()) status = co_await LookAtUpdates();
    if (status.ok()) status = co_await Report();
    if (status.ok()) status = co_await LookAtPartitions();
    if (!status.ok()) break;
    backoff_.Reset();
    status = co_await Rest();
  }
  co_return status;
}

// Until the next report.
asio::awaitable<absl::Status> MonitorSession::Rest() {
  const MonotonicTime until = Clock::now() + kReportInterval;
  co_await connection_->waiter().Wait(SocketWaiter::Interest::kRead, until);
  const bool is_due = passed_over_ != nullptr && passed_over_->is_due();
  if (stopped_ || !is_due) co_return absl::OkStatus();
  co_return co_await WritePassedOver();
}

void MonitorSession::RecordPassedOver() {
  const bool is_due = passed_over_ != nullptr && passed_over_->is_due();
  if (is_due && connection_ != nullptr) connection_->waiter().Wake();
}

asio::awaitable<absl::Status> MonitorSession::WritePassedOver() {
  connection_->set_deadline(Clock::now() + std::chrono::seconds(10));
  const PassedOver pending = passed_over_->pending();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<std::vector<uint32_t>> listed,
      co_await walpost::RecordPassedOver(*connection_, publication_name_, slot_,
                                         pending));
  if (!listed) {
    passed_over_->OnRecorded(pending);
    co_return absl::OkStatus();
  }
  const std::vector<std::string> names = passed_over_->OnRefused(*listed);
  if (!names.empty()) {
    LogWarn(
        "rows of {} are passed over, because outbox.tables does not list it, "
        "and that cannot be put on record: there is no checkpoint.store, and "
        "the role of walpost does not own publication {}. Before it is added "
        "to outbox.tables, run walpost init -c FILE --admin CONNINFO as "
        "the owner of the publication",
        fmt::join(names, ", "), publication_name_);
  }
  const std::vector<std::string> held = passed_over_->held();
  if (!held.empty()) {
    LogWarn(
        "rows of {} wait: it was put on record by init, and outbox.tables does "
        "not list it. Restart walpost with it; until then nothing after "
        "{} is confirmed, and the server keeps the WAL",
        fmt::join(held, ", "), passed_over_->limit().ToString());
  }
  co_return absl::OkStatus();
}

// Some services reserve this function for their own roles.
asio::awaitable<absl::Status> MonitorSession::ReadSystem() {
  connection_->set_deadline(Clock::now() + kAnswerLimit);
  const std::string sql =
      "SELECT system_identifier FROM pg_catalog.pg_control_system()";
  const absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  system_identifier_ = rows.ok() ? rows->Text(0, 0) : "";
  const bool is_refused = SqlstateOf(rows.status()) == kSqlstatePrivilege;
  co_return is_refused ? absl::OkStatus() : rows.status();
}

asio::awaitable<absl::Status> MonitorSession::Report() {
  const MonotonicTime begun_at = Clock::now();
  const bool watches_source = watches_source_;
  // A standby has no current WAL position. The statement takes its snapshot
  // before it asks for the end of WAL (HorizonSample).
  const std::string sql = fmt::format(
      "SELECT pg_current_wal_lsn(), pg_wal_lsn_diff(pg_current_wal_lsn(), "
      "s.restart_lsn)::bigint, s.wal_status, s.safe_wal_size, "
      "s.confirmed_flush_lsn, g.confirmed_flush_lsn, "
      "pg_wal_lsn_diff(pg_current_wal_lsn(), g.restart_lsn)::bigint, "
      "g.safe_wal_size, g.wal_status = 'lost', pg_current_wal_insert_lsn(), "
      "pg_snapshot_xmin(pg_current_snapshot()), {}, s.slot_name, "
      "coalesce(s.active, false), "
      "coalesce(to_jsonb(s) ->> 'failover', 'false') = 'true', "
      "('x' || left(pg_walfile_name(pg_current_wal_lsn()), "
      "8))::bit(32)::bigint "
      "FROM (VALUES (true)) one (row) "
      "LEFT JOIN pg_catalog.pg_replication_slots s ON s.slot_name = {} "
      "LEFT JOIN pg_catalog.pg_replication_slots g ON g.slot_name = {} "
      "WHERE NOT pg_is_in_recovery()",
      kServerStartSql, connection_->Literal(slot_),
      connection_->Literal(ReplayWindowSlotName(slot_)));
  connection_->set_deadline(Clock::now() + kAnswerLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_->Execute(sql));
  if (rows.size() == 0) {
    co_return absl::UnavailableError(
        "the session beside the stream has reached a standby: set "
        "target_session_attrs=read-write in postgres.conninfo");
  }
  WALPOST_CO_RETURN_IF_ERROR(co_await publication_.Look(*connection_));
  SlotReport report;
  report.server_wal_end = Lsn::Parse(rows.Text(0, 0)).value_or(Lsn());
  report.timeline = static_cast<uint32_t>(rows.Unsigned(0, 15));
  report.has_slot = rows.Get(0, 12).has_value();
  if (report.has_slot) {
    report.wal = ReadRetainedWal(rows, 1, 3);
    report.wal_status = rows.Text(0, 2);
    report.confirmed = Lsn::Parse(rows.Text(0, 4)).value_or(Lsn());
  }
  if (rows.Get(0, 5)) {
    GuardReport& guard = report.guard.emplace();
    guard.confirmed = Lsn::Parse(rows.Text(0, 5)).value_or(Lsn());
    guard.wal = ReadRetainedWal(rows, 6, 7);
    guard.is_lost = rows.Bool(0, 8);
  }
  report.horizon = ReadHorizon(rows, 9);
  report.publication_trouble = publication_.trouble();
  report.publication_is_wrong = publication_.is_error();
  report.new_tables = publication_.new_tables();
  report.new_table_trouble = publication_.new_table_trouble();
  report.gap = publication_.gap();
  report.has_other_columns = publication_.TakeOtherColumns();
  report.updated_rows = updates_.counts();
  const bool is_in_use = rows.Bool(0, 13);
  if (watches_source && !is_in_use) {
    ObservedSource observed;
    observed.system_identifier = system_identifier_;
    observed.timeline = report.timeline;
    observed.wal_end = report.server_wal_end;
    if (report.has_slot) {
      observed.slot = ObservedSource::Slot{
          report.confirmed, report.wal_status == "lost", rows.Bool(0, 14)};
    }
    WALPOST_CO_RETURN_IF_ERROR(co_await ReadSource(report, observed));
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<std::string> comments,
      co_await ReadPublicationComments(*connection_, publication_name_));
  report.pause = FindPause(comments, PauseSubject(slot_));
  if (watches_decisions_) report.decisions = FindDecisionsIn(comments, slot_);
  reported_at_ = Clock::now();
  looked_from_ = begun_at;
  trouble_ = absl::OkStatus();
  on_report_(report);
  co_await RecordObeyed();
  co_await RecordLetters();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> MonitorSession::ReadSource(
    SlotReport& report, ObservedSource observed) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<BirthRecord> record,
      co_await ReadBirthRecord(*connection_, publication_name_, slot_));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Coverage coverage,
      co_await ReadCoverage(*connection_, publication_name_, tables_));
  observed.coverage = coverage.ToString();
  std::optional<Gap> parking = co_await LookAtParking(record);
  report.source = SlotReport::Source{std::move(observed), std::move(record),
                                     std::move(parking)};
  co_return absl::OkStatus();
}

// nullopt: also if this role may not look. Before a stream, ParkingTable judges
// again.
asio::awaitable<std::optional<Gap>> MonitorSession::LookAtParking(
    std::optional<BirthRecord> record) {
  if (!record || record->parked_table.name.empty()) co_return std::nullopt;
  ParkingNames names{parking_table_, slot_, record->system_identifier};
  const absl::StatusOr<ParkingTableFacts> facts =
      co_await ReadParkingTableFacts(*connection_, std::move(names),
                                     publication_name_, record->parked_table,
                                     record->consistent_point);
  if (!facts.ok()) co_return std::nullopt;
  const std::optional<ParkingTableProblem> problem =
      FindProblemOfHistory(*facts);
  if (!problem) co_return std::nullopt;
  co_return Gap{problem->reason_code,
                fmt::format("{}; {}", problem->text, problem->remedy)};
}

asio::awaitable<void> MonitorSession::RecordObeyed() {
  std::vector<EventDecision> obeyed = std::exchange(obeyed_, {});
  for (EventDecision& decision : obeyed) {
    decision.was_obeyed = true;
    const absl::Status written =
        co_await WriteDecision(*connection_, publication_name_, decision);
    if (written.ok()) continue;
    LogDebug("that {} was decided by {} and obeyed is not on record: {}",
             ToString(decision.position), decision.by,
             std::string(written.message()));
  }
}

asio::awaitable<void> MonitorSession::RecordLetters() {
  const std::string topic = std::exchange(letter_topic_, "");
  if (topic.empty()) co_return;
  const absl::Status written =
      co_await RecordLetterTopic(*connection_, publication_name_, slot_, topic);
  if (absl::IsFailedPrecondition(written)) {
    LogDebug("that dead letters go to {} is not on record: {}", topic,
             std::string(written.message()));
  } else if (!written.ok()) {
    letter_topic_ = topic;
  }
}

asio::awaitable<absl::Status> MonitorSession::LookAtCreation() {
  connection_->set_deadline(Clock::now() + kAnswerLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(
      slot_creation_, co_await DescribeSlotCreation(*connection_, slot_));
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> MonitorSession::LookAtWait() {
  session_wait_.clear();
  if (watched_pid_ == 0) co_return absl::OkStatus();
  connection_->set_deadline(Clock::now() + kAnswerLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(
      session_wait_, co_await DescribeWait(*connection_, watched_pid_));
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> MonitorSession::LookAtUpdates() {
  if (sample_ == nullptr || tables_.empty()) co_return absl::OkStatus();
  connection_->set_deadline(Clock::now() + kAnswerLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<UpdateDetector::Total> totals,
                              co_await ReadUpdateTotals(*connection_, tables_));
  updates_.Observe(totals, Clock::now());
  for (size_t source = 0; source < tables_.size(); ++source) {
    const uint64_t taken = sample_->taken(source);
    if (!updates_.IsDue(source, taken, Clock::now())) continue;
    WALPOST_CO_RETURN_IF_ERROR(co_await CompareRows(source));
  }
  sample_->BeginPass();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> MonitorSession::CompareRows(size_t source) {
  connection_->set_deadline(Clock::now() + kAnswerLimit);
  const uint64_t taken = sample_->taken(source);
  const std::string begin =
      "BEGIN TRANSACTION READ ONLY; SET LOCAL statement_timeout = '2s'; SET "
      "LOCAL lock_timeout = '1s'";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows begun,
                              co_await connection_->Execute(begin));
  const TableOptions& table = tables_[source];
  const std::vector<std::string>& references = routes_[source].references();
  const absl::StatusOr<UpdateDetector::Comparison> found =
      co_await CompareWithSample(*connection_, table, source, references,
                                 *sample_);
  const std::string rollback = "ROLLBACK";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows ended,
                              co_await connection_->Execute(rollback));
  const std::optional<std::string> warning =
      updates_.OnCompared(source, taken, found, Clock::now());
  if (warning) LogWarn("{}", *warning);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> MonitorSession::LookAtPartitions() {
  connection_->set_deadline(Clock::now() + kAnswerLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<Finding> found,
                              co_await partitions_.Look(*connection_));
  if (found) {
    const Finding& finding = *found;
    LogFinding(finding);
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
