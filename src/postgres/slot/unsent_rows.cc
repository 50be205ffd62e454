#include "postgres/slot/unsent_rows.h"

#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "checkpoint/continuity.h"
#include "fmt/format.h"
#include "outbox/base_types.h"
#include "outbox/field_column.h"
#include "pgoutput/type_oid.h"
#include "postgres/catalog/table_columns.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/slot/slot_peek.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// The server decodes the WAL of the slot once more: at most this much.
constexpr uint64_t kMaxDecodedBytes = uint64_t{64} << 20;
constexpr size_t kMaxIds = 100'000;

class UnsentRowsCounter {
 public:
  UnsentRowsCounter(Connection& connection, const WalSourceOptions& postgres,
                    const OutboxOptions& outbox,
                    const std::vector<std::vector<std::string>>& references,
                    size_t table, Lsn resumes_at)
      : connection_(connection),
        postgres_(postgres),
        outbox_(outbox),
        references_(references),
        table_(table),
        name_(QuoteQualifiedName(outbox.tables[table].name)),
        resumes_at_(resumes_at) {}

  asio::awaitable<absl::Status> Run(UnsentRows& unsent);

 private:
  asio::awaitable<absl::StatusOr<uint64_t>> Count(std::string condition);
  asio::awaitable<absl::Status> FindPlace();
  asio::awaitable<absl::StatusOr<bool>> MayPeek();
  asio::awaitable<absl::StatusOr<uint64_t>> CountPending();

  Connection& connection_;
  const WalSourceOptions& postgres_;
  const OutboxOptions& outbox_;
  const std::vector<std::vector<std::string>>& references_;
  size_t table_;
  std::string name_;
  Lsn resumes_at_;
  // Condition of rows from before the table's place in the publication; empty:
  // it has none of its own.
  std::string before_place_;
};

asio::awaitable<absl::StatusOr<uint64_t>> UnsentRowsCounter::Count(
    std::string condition) {
  const std::string sql = fmt::format(
      "SELECT count(*) FROM (SELECT FROM {} WHERE {} LIMIT {}) counted", name_,
      condition, ExistingRows::kLimit + 1);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  co_return rows.Unsigned(0, 0);
}

asio::awaitable<absl::Status> UnsentRowsCounter::FindPlace() {
  const std::string sql = fmt::format(
      "SELECT r.xmin, r.cmin FROM pg_catalog.pg_publication_rel r JOIN "
      "pg_catalog.pg_publication p ON p.oid = r.prpubid WHERE p.pubname = {0} "
      "AND NOT p.puballtables AND (r.prrelid = {1} OR r.prrelid IN (SELECT "
      "pg_catalog.pg_partition_ancestors({1}::regclass))) ORDER BY "
      "pg_catalog.age(r.xmin) DESC LIMIT 1",
      connection_.Literal(postgres_.publication),
      RelationOidSql(connection_, outbox_.tables[table_].name));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  if (rows.size() > 0) {
    before_place_ = WrittenBeforeSql(rows.Text(0, 0), rows.Text(0, 1));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<bool>> UnsentRowsCounter::MayPeek() {
  const std::string sql = fmt::format(
      "SELECT NOT active AND wal_status IS DISTINCT FROM 'lost' AND "
      "pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), "
      "confirmed_flush_lsn) <= {} FROM pg_catalog.pg_replication_slots WHERE "
      "slot_name = {}",
      kMaxDecodedBytes, connection_.Literal(postgres_.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  co_return rows.size() > 0 && rows.Bool(0, 0);
}

// Rows that the transaction shows and the slot will send. Without an id, a row
// that was deleted since counts, too.
asio::awaitable<absl::StatusOr<uint64_t>> UnsentRowsCounter::CountPending() {
  std::vector<std::string> ids;
  uint64_t pending = 0;
  const std::function<void(const Event& event)> show = [&](const Event& event) {
    if (event.source != table_) return;
    if (event.position.commit_lsn < resumes_at_) return;
    ++pending;
    if (event.id && ids.size() < kMaxIds) ids.emplace_back(*event.id);
  };
  const std::string now = "SELECT pg_catalog.pg_current_wal_insert_lsn()";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(now));
  WALPOST_CO_ASSIGN_OR_RETURN(const Lsn end, Lsn::Parse(rows.Text(0, 0)));
  // Those of other origins, too: the stream decides about them.
  OutboxOptions outbox = outbox_;
  outbox.origin = OriginFilter::kAny;
  const absl::Status peeked =
      co_await PeekSlot(connection_, postgres_, outbox, references_, end, show);
  if (!peeked.ok()) co_return peeked;
  if (ids.size() < pending || ids.empty()) co_return pending;
  const TableOptions& table = outbox_.tables[table_];
  WALPOST_CO_ASSIGN_OR_RETURN(
      const pgoutput::RelationSchema schema,
      co_await ReadTableSchema(connection_, table.name));
  const std::optional<std::string> column = ColumnOfField(table, schema, "id");
  if (!column) co_return pending;
  std::string literals;
  const bool is_bytea = schema.columns[*schema.FindColumn(*column)].type_oid ==
                        pgoutput::kByteaOid;
  for (const std::string& id : ids) {
    const std::string text = is_bytea ? "\\x" + absl::BytesToHexString(id) : id;
    literals += fmt::format("{}{}", literals.empty() ? "" : ", ",
                            connection_.Literal(text));
  }
  const std::string condition =
      fmt::format("{} = ANY (ARRAY[{}]::text[])",
                  OutputTextSql(QuoteName(*column)), literals);
  co_return co_await Count(condition);
}

asio::awaitable<absl::Status> UnsentRowsCounter::Run(UnsentRows& unsent) {
  WALPOST_CO_RETURN_IF_ERROR(co_await FindPlace());
  const std::string all = "true";
  WALPOST_CO_ASSIGN_OR_RETURN(uint64_t count, co_await Count(all));
  uint64_t published = count;
  if (count > 0 && !before_place_.empty()) {
    const std::string condition =
        fmt::format("({}) IS NOT TRUE", before_place_);
    WALPOST_CO_ASSIGN_OR_RETURN(published, co_await Count(condition));
  }
  bool may_peek = false;
  if (published > 0) {
    WALPOST_CO_ASSIGN_OR_RETURN(may_peek, co_await MayPeek());
  }
  uint64_t pending = 0;
  if (may_peek) {
    WALPOST_CO_ASSIGN_OR_RETURN(pending, co_await CountPending());
  } else if (!before_place_.empty()) {
    pending = published;  // they may come
  }
  unsent.was_published = published > (may_peek ? pending : 0);
  const bool is_exact = count <= ExistingRows::kLimit;
  unsent.rows.count = is_exact ? count - std::min(count, pending) : count;
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<absl::StatusOr<UnsentRows>> CountUnsentRows(
    Connection& connection, const WalSourceOptions& postgres,
    const OutboxOptions& outbox,
    const std::vector<std::vector<std::string>>& references, size_t table,
    Lsn resumes_at) {
  UnsentRows unsent;
  const std::string& name = outbox.tables[table].name;
  unsent.rows.table = name;
  WALPOST_CO_ASSIGN_OR_RETURN(unsent.rows.estimate,
                              co_await EstimateRows(connection, name));
  const std::string begin =
      "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL "
      "statement_timeout = '10s'; SET LOCAL lock_timeout = '2s'";
  absl::StatusOr<QueryRows> result = co_await connection.Execute(begin);
  if (!result.ok()) co_return result.status();
  UnsentRowsCounter counter(connection, postgres, outbox, references, table,
                            resumes_at);
  const absl::Status counted = co_await counter.Run(unsent);
  const std::string end = "ROLLBACK";
  result = co_await connection.Execute(end);
  if (!result.ok()) co_return result.status();
  if (SqlstateOf(counted) == kSqlstateUndefinedTable) {
    unsent.rows.is_missing = true;
    unsent.rows.count = 0;
  } else if (!counted.ok()) {
    unsent.rows.count.reset();
    unsent.rows.trouble = std::string(counted.message());
  }
  co_return unsent;
}

Finding DescribeUnsentRows(const ExistingRows& rows,
                           const WalSourceOptions& postgres,
                           bool is_streaming) {
  Finding finding{Severity::kWarning, FindingId("new_table_rows_unpublished"),
                  fmt::format("table {}", rows.table),
                  "is new in outbox.tables, and ", ""};
  const std::string restart =
      is_streaming ? "restart walpost soon: the one that runs passes over rows "
                     "that are committed until then"
                   : "";
  const std::string command = PublishMissingCommand(rows.table);
  if (!rows.count) {
    finding.id = FindingId("new_table_rows_unknown");
    finding.text += fmt::format(
        "cannot be read, so walpost cannot know whether it has rows that slot "
        "{} does not send ({}): {}",
        postgres.slot, rows.ToString(), rows.trouble);
    finding.remedy = fmt::format(
        "let walpost init -c FILE --admin CONNINFO grant SELECT on it to the "
        "role of walpost; then {} --dry-run",
        command);
    return finding;
  }
  if (*rows.count == 0) {
    finding.severity = is_streaming ? Severity::kNote : Severity::kOk;
    finding.id = FindingId("new_table_rows_none");
    finding.text +=
        fmt::format("has no rows that slot {} does not send", postgres.slot);
    finding.remedy = restart;
    return finding;
  }
  finding.text += fmt::format("has {} that slot {} does not send: they ",
                              rows.ToString(), postgres.slot);
  if (postgres.initial_snapshot) {
    finding.severity = Severity::kNote;
    finding.id = FindingId("new_table_rows_in_snapshot");
    finding.text += "are published at the next start (snapshot: initial)";
    finding.remedy = restart;
    return finding;
  }
  finding.text += "will not be published";
  finding.remedy = fmt::format(
      "{}{} publishes those that Kafka lacks; do nothing if another relay has "
      "sent them",
      restart.empty() ? "" : restart + ". Then ", command);
  return finding;
}

}  // namespace walpost
