#include "retention/sent_wait.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "base/read_refusal.h"
#include "base/reason_code.h"
#include "base/sql_name.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"
#include "polling/polled_table.h"
#include "postgres/catalog/table_columns.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"
#include "retention/cursor_gate.h"
#include "retention/outbox_shape.h"
#include "retention/prune_sql.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kAnswerLimit{30};
constexpr std::chrono::milliseconds kLookInterval{50};
constexpr std::chrono::seconds kGrace{1};  // for the last answer
constexpr char kTask[] = "wait";
constexpr uint32_t kUuid = 2950;  // pg_type

// Codes of SQLSTATE: the text is no value of the column's type.
bool IsOfAnotherType(const absl::Status& status) {
  const std::string sqlstate = SqlstateOf(status);
  return sqlstate == "22P02" || sqlstate == "22003";
}

// The proof's words are about deleting.
absl::Status InWordsOfWaiting(const absl::Status& proof) {
  const std::string code = ReasonCodeOf(proof);
  if (!IsGap(code)) return proof;
  return WithReasonCode(
      absl::FailedPreconditionError(fmt::format(
          "because of a gap ({}), it is not known what is in Kafka: walpost "
          "recover -c FILE --dry-run says what is missing",
          code)),
      code);
}

absl::Status NotYet(std::string_view what) {
  return absl::DeadlineExceededError(
      fmt::format("{}: walpost status -c FILE says what it waits for", what));
}

}  // namespace

SentWait::SentWait(asio::any_io_executor executor, Pruner::Options options)
    : executor_(executor),
      options_(std::move(options)),
      gate_(executor, options_.postgres.slot, kTask),
      proof_(options_.postgres, options_.tables, options_.load_checkpoint) {}

asio::awaitable<absl::Status> SentWait::Connect() {
  const ConnectionOptions options = TaskSession(options_.postgres, kTask);
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  if (options_.proof != SentProof::kSlot) co_return absl::OkStatus();
  co_return co_await gate_.Connect(options_.postgres.server);
}

void SentWait::SetDeadline(MonotonicTime deadline) {
  connection_->set_deadline(
      std::min(Clock::now() + kAnswerLimit, deadline + kGrace));
}

asio::awaitable<absl::Status> SentWait::ForLsn(Lsn lsn,
                                               MonotonicTime deadline) {
  WALPOST_CO_RETURN_IF_ERROR(co_await Connect());
  SetDeadline(deadline);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> record,
      co_await ReadBirthRecord(*connection_, options_.postgres.publication,
                               options_.postgres.slot));
  if (record && lsn < record->consistent_point) {
    co_return absl::InvalidArgumentError(fmt::format(
        "{} lies before slot {}, which begins at {}: what was committed there "
        "did not come through it",
        lsn.ToString(), options_.postgres.slot,
        record->consistent_point.ToString()));
  }
  WALPOST_CO_RETURN_IF_ERROR(co_await RequireProof());
  WALPOST_CO_ASSIGN_OR_RETURN(const AcknowledgedGate::Mark now,
                              co_await gate_.TakeMark());
  if (lsn > now.lsn) {
    co_return absl::InvalidArgumentError(fmt::format(
        "{} is ahead of this server, whose WAL ends at {}: it is the LSN of "
        "another server, or of before a failover",
        lsn.ToString(), now.lsn.ToString()));
  }
  const AcknowledgedGate::Mark mark = {EndOfWal(lsn), now.oldest_running};
  WALPOST_CO_RETURN_IF_ERROR(co_await gate_.WaitUntilPassed(mark, deadline));
  co_return co_await RequireProof();
}

// What the slot was not given to send was passed, too.
asio::awaitable<absl::Status> SentWait::RequireProof() {
  const absl::Status proven = co_await proof_.Look(*connection_);
  if (!proven.ok()) co_return InWordsOfWaiting(proven);
  for (size_t i = 0; i < options_.tables.size(); ++i) {
    if (proof_.UnprovenReason(i).empty()) continue;
    co_return absl::FailedPreconditionError(fmt::format(
        "it is not on record since when slot {} sends the rows of {}: run "
        "walpost init -c FILE --admin CONNINFO as the owner of publication {}",
        options_.postgres.slot, options_.tables[i].name,
        options_.postgres.publication));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<SentWait::Sent>> SentWait::ForEvent(
    std::string id, std::string table, MonotonicTime deadline) {
  WALPOST_CO_RETURN_IF_ERROR(co_await Connect());
  const bool is_by_slot = options_.proof == SentProof::kSlot;
  std::optional<Row> known;
  for (;;) {
    SetDeadline(deadline);
    WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<Row> found,
                                co_await FindRow(id, table));
    // A poller that keeps no published rows has deleted it.
    if (known && !found && options_.proof == SentProof::kNone) {
      co_return Sent{known->id, options_.tables[known->table].name, true};
    }
    if (found) {
      const std::string& name = options_.tables[found->table].name;
      if (found->is_sent && is_by_slot) {
        WALPOST_CO_RETURN_IF_ERROR(co_await WaitForSlot(id, deadline));
      }
      if (found->is_sent) co_return Sent{found->id, name};
      if (is_by_slot) co_return Unproven(id, *found);
      if (!found->failure.empty()) {
        co_return absl::FailedPreconditionError(
            fmt::format("event {} was given up: its row in {} is marked as {}",
                        id, name, found->failure));
      }
      known = found;
    }
    if (Clock::now() >= deadline) {
      if (found) co_return NotYet(fmt::format("event {} is not sent yet", id));
      co_return absl::NotFoundError(fmt::format(
          "no table of outbox.tables has a row with the id {}: it is not "
          "committed, or was deleted (then only its LSN can be waited for: "
          "walpost wait -c FILE --lsn LSN)",
          id));
    }
    co_await Pause();
  }
}

absl::Status SentWait::Unproven(const std::string& id, const Row& row) const {
  std::string why = proof_.UnprovenReason(row.table);
  if (why.empty()) {
    why =
        "it may be older than the slot; walpost verify -c FILE compares the "
        "rows with Kafka";
  }
  return absl::FailedPreconditionError(fmt::format(
      "event {} has its row in {}, and it is not known that it came through "
      "slot {}: {}",
      id, options_.tables[row.table].name, options_.postgres.slot, why));
}

// The row is visible, so it is covered by a mark that is taken now.
asio::awaitable<absl::Status> SentWait::WaitForSlot(std::string id,
                                                    MonotonicTime deadline) {
  WALPOST_CO_ASSIGN_OR_RETURN(const AcknowledgedGate::Mark mark,
                              co_await gate_.TakeMark());
  const absl::Status passed = co_await gate_.WaitUntilPassed(mark, deadline);
  if (absl::IsDeadlineExceeded(passed)) {
    co_return absl::DeadlineExceededError(
        fmt::format("event {} is not acknowledged yet: {}", id,
                    std::string(passed.message())));
  }
  if (!passed.ok()) co_return passed;
  SetDeadline(deadline);
  const absl::Status proven = co_await proof_.Look(*connection_);
  co_return InWordsOfWaiting(proven);
}

asio::awaitable<absl::StatusOr<std::optional<SentWait::Row>>> SentWait::FindRow(
    std::string id, std::string only) {
  std::optional<Row> found;
  for (size_t i = 0; i < options_.tables.size(); ++i) {
    const TableOptions& options = options_.tables[i];
    if (!only.empty() && options.name != only) continue;
    WALPOST_CO_ASSIGN_OR_RETURN(
        const pgoutput::RelationSchema schema,
        co_await ReadTableSchema(*connection_, options.name));
    const absl::StatusOr<PolledTable> table = MakePolledTable(options, schema);
    if (!table.ok()) co_return table.status();
    const std::string name =
        QuoteName(schema.schema) + "." + QuoteName(schema.name);
    const std::string from =
        fmt::format("FROM {} o WHERE o.{} = {}", name, QuoteName(table->id),
                    connection_->Literal(id));
    const std::string find = fmt::format(
        "SELECT tableoid, tableoid::regclass, tableoid <> {}::regclass, "
        "o.{}::text {}",
        connection_->Literal(name), QuoteName(table->id), from);
    const absl::StatusOr<QueryRows> place = co_await connection_->Execute(find);
    if (IsOfAnotherType(place.status())) continue;
    if (SqlstateOf(place.status()) == kSqlstatePrivilege) {
      co_return WithPrivilegeRemedy(place.status(), name,
                                    PQuser(connection_->raw()), "SELECT");
    }
    if (!place.ok()) co_return place.status();
    if (place->size() == 0) continue;
    const bool is_unique =
        schema.columns[*schema.FindColumn(table->id)].type_oid == kUuid;
    const bool may_be_others = options_.tables.size() > 1 && only.empty();
    if (found || (may_be_others && !is_unique)) {
      co_return absl::InvalidArgumentError(fmt::format(
          "several tables may have an event {}, now or later: say which one, "
          "as in --table {}",
          id, options.name));
    }
    OutboxShape::Leaf leaf;
    leaf.oid = place->Unsigned(0, 0);
    leaf.name = place->Text(0, 1);
    leaf.is_partition = place->Bool(0, 2);
    WALPOST_CO_ASSIGN_OR_RETURN(const std::string sent,
                                co_await SentSql(i, leaf));
    const RowStateOptions& state = options.state;
    const bool can_fail =
        options_.proof == SentProof::kState && state.can_fail();
    const std::string failed =
        can_fail ? fmt::format("o.{} = {}", QuoteName(state.status),
                               connection_->Literal(state.failed))
                 : "false";
    const std::string error =
        state.last_error.empty() ? "NULL" : "o." + QuoteName(state.last_error);
    const std::string look = fmt::format("SELECT ({}), ({}), {}::text {}", sent,
                                         failed, error, from);
    WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                                co_await connection_->Execute(look));
    if (rows.size() == 0) continue;
    Row row;
    row.table = i;
    row.id = place->Text(0, 3);
    row.is_sent = rows.Bool(0, 0);
    if (rows.Bool(0, 1)) {
      row.failure = state.failed;
      const std::string why = rows.Text(0, 2);
      if (!why.empty()) row.failure += ": " + why;
    }
    found = std::move(row);
  }
  co_return found;
}

asio::awaitable<absl::StatusOr<std::string>> SentWait::SentSql(
    size_t table, OutboxShape::Leaf leaf) {
  const TableOptions& options = options_.tables[table];
  if (options_.proof == SentProof::kState) {
    co_return PublishedSql(options.state,
                           connection_->Literal(options.state.published));
  }
  if (options_.proof == SentProof::kCursor) {
    co_return co_await ReadPassedSql(*connection_, options,
                                     options_.cursor_table);
  }
  if (options_.proof == SentProof::kNone) co_return "false";
  // The checkpoint store is asked, too: only once the row is there.
  const absl::Status proven = co_await proof_.Look(*connection_);
  if (!proven.ok()) co_return InWordsOfWaiting(proven);
  const std::string now = "SELECT now()";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows time,
                              co_await connection_->Execute(now));
  const std::string limit = time.Text(0, 0);
  const absl::StatusOr<OutboxShape> shape =
      co_await ReadOutboxShape(*connection_, options, options_.proof, limit);
  if (absl::IsFailedPrecondition(shape.status())) {
    co_return absl::FailedPreconditionError(
        fmt::format("{}; or wait for an LSN: walpost wait -c FILE --lsn LSN",
                    std::string(shape.status().message())));
  }
  if (!shape.ok()) co_return shape.status();
  co_return proof_.Covered(table, *shape, leaf, "", options_.origin);
}

asio::awaitable<void> SentWait::Pause() {
  asio::steady_timer timer(executor_, kLookInterval);
  co_await timer.async_wait(kAsTuple);
}

}  // namespace walpost
