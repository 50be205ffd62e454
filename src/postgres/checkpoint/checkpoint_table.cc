#include "postgres/checkpoint/checkpoint_table.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/checkpoint/checkpoint_sql.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/session_name.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Includes a synchronous standby that does not answer.
constexpr std::chrono::seconds kStatementLimit{10};

// Two instances created the table at the same time.
constexpr std::string_view kSqlstateUniqueViolation = "23505";

}  // namespace

class CheckpointTable::Session {
 public:
  Session(asio::any_io_executor executor, ServerOptions server,
          std::string slot, std::string table)
      : executor_(executor), slot_(std::move(slot)), table_(std::move(table)) {
    options_.server = std::move(server);
    options_.application_name = SessionName(slot_, "checkpoint");
    options_.settings.emplace_back("synchronous_commit=on");
  }

  asio::awaitable<absl::StatusOr<std::optional<Checkpoint>>> Load() {
    absl::StatusOr<std::optional<Checkpoint>> checkpoint;
    absl::Status status = co_await Open();
    if (status.ok()) {
      const std::string sql = LoadCheckpointSql(table_, slot_, Quote());
      absl::StatusOr<QueryRows> rows = co_await Execute(sql);
      status = rows.status();
      if (rows.ok()) checkpoint = ParseRows(*rows);
    }
    if (!status.ok()) co_return Close(status);
    co_return checkpoint;
  }

  asio::awaitable<absl::Status> Save(Checkpoint checkpoint) {
    absl::Status status = co_await Open();
    bool written = false;
    if (status.ok()) {
      const std::string sql = SaveCheckpointSql(table_, checkpoint, Quote());
      absl::StatusOr<QueryRows> rows = co_await Execute(sql);
      status = rows.status();
      written = rows.ok() && rows->size() > 0;
    }
    if (!status.ok()) co_return Close(status);
    if (!written) {
      co_return absl::AbortedError(fmt::format(
          "checkpoint table {}: another instance has written a later "
          "checkpoint of slot {}",
          table_, slot_));
    }
    co_return status;
  }

  // Cancels the pending operation; its callback is not invoked.
  void Abandon() {
    abandoned_ = true;
    if (connection_ != nullptr) connection_->Interrupt();
  }
  bool abandoned() const { return abandoned_; }

 private:
  QuoteLiteral Quote() {
    return [this](std::string_view text) { return connection_->Literal(text); };
  }

  asio::awaitable<absl::StatusOr<QueryRows>> Execute(std::string sql) {
    connection_->set_deadline(Clock::now() + kStatementLimit);
    co_return co_await connection_->Execute(sql);
  }

  // Opens a session, and creates the table or its missing columns. CREATE TABLE
  // IF NOT EXISTS requires the right to create even if the table exists; so
  // does ALTER TABLE.
  asio::awaitable<absl::Status> Open() {
    if (connection_ != nullptr) co_return absl::OkStatus();
    WALPOST_CO_ASSIGN_OR_RETURN(
        std::unique_ptr<Connection> connected,
        co_await Connection::Connect(executor_, options_));
    if (abandoned_) co_return absl::CancelledError();
    connection_ = std::move(connected);
    const std::string regclass =
        connection_->Literal(QuoteQualifiedName(table_));
    const std::string find = fmt::format(
        "SELECT to_regclass({0}) IS NOT NULL, EXISTS (SELECT 1 FROM "
        "pg_catalog.pg_attribute WHERE attrelid = to_regclass({0}) AND attname "
        "= '{1}')",
        regclass, kNewestCheckpointColumn);
    absl::StatusOr<QueryRows> rows = co_await Execute(find);
    if (!rows.ok()) co_return rows.status();
    const bool exists = rows->Bool(0, 0);
    const bool is_of_today = rows->Bool(0, 1);
    if (exists && is_of_today) co_return absl::OkStatus();
    std::string make = CreateCheckpointTableSql(table_);
    if (exists) make = AlterCheckpointTableSql(table_);
    rows = co_await Execute(make);
    co_return rows.status();
  }

  // Closes the session, and converts the error to one of a store.
  absl::Status Close(const absl::Status& error) {
    const std::unique_ptr<Connection> connection = std::move(connection_);
    const std::string text = fmt::format("checkpoint table {}: {}", table_,
                                         std::string(error.message()));
    const std::string sqlstate = SqlstateOf(error);
    if (sqlstate == kSqlstateInsufficientPrivilege && connection != nullptr) {
      const std::string user = PQuser(connection->raw());
      return absl::FailedPreconditionError(fmt::format(
          "checkpoint table {}: user {} may not make, read or write it; run "
          "as the owner of the schema (sql/checkpoint.sql): {}",
          table_, user, GrantCheckpointTableSql(table_, user)));
    }
    if (sqlstate == kSqlstateUniqueViolation ||
        absl::IsDeadlineExceeded(error)) {
      return absl::UnavailableError(text);
    }
    return absl::Status(error.code(), text);
  }

  absl::StatusOr<std::optional<Checkpoint>> ParseRows(
      const QueryRows& rows) const {
    if (rows.size() == 0) return std::nullopt;
    CheckpointRow row;
    row.slot = rows.Text(0, 0);
    row.system_identifier = rows.Text(0, 1);
    row.timeline = rows.Text(0, 2);
    row.birth = rows.Text(0, 3);
    row.confirmed = rows.Text(0, 4);
    row.commit_lsn = rows.Text(0, 5);
    row.ordinal = rows.Text(0, 6);
    row.numbering = rows.Text(0, 7);
    row.transaction_horizon = rows.Text(0, 8);
    row.server_started_at = rows.Text(0, 9);
    row.written_at = rows.Text(0, 10);
    row.commit_xid = rows.Text(0, 11);
    row.commit_time = rows.Text(0, 12);
    row.coverage = rows.Text(0, 13);
    row.kafka_cluster = rows.Text(0, 14);
    row.gap = rows.Text(0, 15);
    row.kafka_topics = rows.Text(0, 16);
    absl::StatusOr<Checkpoint> checkpoint = ParseCheckpointRow(row);
    if (checkpoint.ok()) return *std::move(checkpoint);
    return absl::DataLossError(
        fmt::format("checkpoint table {}, slot {}: {}; delete the row to "
                    "continue where the slot stands",
                    table_, slot_, std::string(checkpoint.status().message())));
  }

  asio::any_io_executor executor_;
  ConnectionOptions options_;
  std::string slot_;
  std::string table_;
  std::unique_ptr<Connection> connection_;
  bool abandoned_ = false;
};

CheckpointTable::CheckpointTable(asio::any_io_executor executor,
                                 ServerOptions server, std::string slot,
                                 std::string table)
    : executor_(executor),
      table_(table),
      session_(std::make_shared<Session>(executor, std::move(server),
                                         std::move(slot), std::move(table))) {}

CheckpointTable::~CheckpointTable() { session_->Abandon(); }

std::string CheckpointTable::Name() const {
  return fmt::format("table {}", table_);
}

std::string CheckpointTable::HowToRemove(const Checkpoint& checkpoint) const {
  return fmt::format("DELETE FROM {} WHERE slot = '{}'",
                     QuoteQualifiedName(table_), checkpoint.slot);
}

void CheckpointTable::Load(Loaded done) {
  asio::co_spawn(executor_, session_->Load(),
                 [session = session_, done = std::move(done)](
                     std::exception_ptr exception,
                     absl::StatusOr<std::optional<Checkpoint>> loaded) {
                   if (exception) std::rethrow_exception(exception);
                   if (!session->abandoned()) done(std::move(loaded));
                 });
}

void CheckpointTable::Save(const Checkpoint& checkpoint, Saved done) {
  asio::co_spawn(executor_, session_->Save(checkpoint),
                 [session = session_, done = std::move(done)](
                     std::exception_ptr exception, absl::Status saved) {
                   if (exception) std::rethrow_exception(exception);
                   if (!session->abandoned()) done(std::move(saved));
                 });
}

}  // namespace walpost
