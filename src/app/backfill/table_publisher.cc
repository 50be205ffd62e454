#include "app/backfill/table_publisher.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "backfill/sink_rounds.h"
#include "base/session_settings.h"
#include "base/sql_name.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "postgres/catalog/column_order.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Maximum time until we check again for room.
constexpr std::chrono::milliseconds kPause{50};

SinkOptions SinkOptionsOf(const TablePublisher::Options& options) {
  SinkOptions sink;
  if (options.ledger != nullptr) {
    sink.transactional_id = options.ledger->transactional_id;
  }
  return sink;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TablePublisher>> TablePublisher::Create(
    asio::any_io_executor executor, const Config& config, SinkFactory sinks,
    Options options) {
  OutboxOptions outbox = config.outbox;
  // Without a place in the order of commits there is no position.
  if (!options.before.is_valid()) outbox.route.position_header = false;
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(outbox));
  options.mark.lsn =
      options.before.is_valid() ? Lsn(options.before.value() - 1) : Lsn(1);
  builder->SetMark(options.mark);
  options.rows.on_error = config.on_error;
  if (options.ledger != nullptr) {
    options.rows.ledger = options.ledger->begins_at;
  }
  if (options.dry_run) {
    WALPOST_ASSIGN_OR_RETURN(options.rows.preview,
                             RecordBuilder::Create(outbox));
  }
  const bool needs_sink = !options.dry_run;
  std::unique_ptr<TablePublisher> publisher(
      new TablePublisher(executor, config, std::move(sinks), std::move(options),
                         std::move(builder)));
  if (needs_sink) WALPOST_RETURN_IF_ERROR(publisher->run_.Start());
  return publisher;
}

TablePublisher::TablePublisher(asio::any_io_executor executor,
                               const Config& config, SinkFactory sinks,
                               Options options,
                               std::unique_ptr<RecordBuilder> builder)
    : config_(config),
      filter_(std::move(options.filter)),
      may_send_(std::move(options.may_send)),
      on_progress_(std::move(options.progress)),
      ledger_(options.ledger),
      run_(executor, std::move(builder), std::move(sinks),
           {config.window, SinkOptionsOf(options), options.silence_limit,
            config.on_error},
           nullptr),
      backfill_(config_.outbox, run_.sender(), std::move(options.rows)) {
  filter_.with_origin = config.outbox.origin == OriginFilter::kNone;
}

asio::awaitable<absl::StatusOr<TablePublisher::Counts>> TablePublisher::Publish(
    Connection& connection) {
  absl::StatusOr<Counts> counts = co_await Continue(connection);
  SinkRounds rounds;
  while (run_.sender().sink_failure()) {
    // The last reports say which records the brokers reject.
    co_await Close(Clock::now() + SinkRounds::kGrace);
    if (!backfill_.has_rejected_rows()) break;
    if (!rounds.MayBegin(backfill_.handled())) break;
    WALPOST_CO_RETURN_IF_ERROR(co_await Renew(Clock::now()));
    counts = co_await Continue(connection);
  }
  co_await Close(Clock::now());
  co_return counts;
}

asio::awaitable<absl::StatusOr<TablePublisher::Counts>>
TablePublisher::Continue(Connection& connection) {
  backfill_.Begin();
  WALPOST_CO_RETURN_IF_ERROR(co_await OpenLedger());
  WALPOST_CO_RETURN_IF_ERROR(co_await CarryOut(connection));
  co_return backfill_.counts();
}

asio::awaitable<absl::Status> TablePublisher::OpenLedger() {
  if (!backfill_.needs_ledger()) co_return absl::OkStatus();
  WALPOST_CO_RETURN_IF_ERROR(run_.Start());
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string text,
                              co_await ledger_->record.Open(run_));
  const absl::Status loaded = backfill_.Load(text);
  if (!loaded.ok()) {
    co_return ledger_->record.Unreadable(
        fmt::format("{}: was it written by another release?",
                    std::string(loaded.message())));
  }
  const uint64_t rows = backfill_.all();
  if (rows > 0) LogInfo("initial snapshot: continuing behind {} rows", rows);
  co_return loaded;
}

asio::awaitable<absl::Status> TablePublisher::CarryOut(Connection& connection) {
  using Do = TableBackfill::Do;
  for (;;) {
    absl::Status done;
    const bool may_send = !may_send_ || may_send_();
    switch (backfill_.Next(Clock::now(), may_send)) {
      case Do::kOpenTable:
        done = co_await OpenTable(connection);
        break;
      case Do::kRead:
        done = co_await Read();
        break;
      case Do::kWait:
        co_await Wait();
        break;
      case Do::kCommit:
        co_await Commit();
        break;
      case Do::kEnd:
        if (scan_ == nullptr) co_return backfill_.status();
        done = co_await CloseScan();
        if (!backfill_.status().ok()) done = absl::OkStatus();
        break;
    }
    if (!done.ok()) backfill_.Fail(std::move(done));
  }
}

asio::awaitable<absl::Status> TablePublisher::OpenTable(
    Connection& connection) {
  WALPOST_CO_RETURN_IF_ERROR(co_await CloseScan());
  WALPOST_CO_ASSIGN_OR_RETURN(TableFilter filter,
                              co_await FilterFromKey(connection));
  const TableOptions& table = config_.outbox.tables[backfill_.table()];
  scan_ = std::make_unique<TableScan>(connection, table, std::move(filter));
  portion_ = next_row_ = 0;
  WALPOST_CO_RETURN_IF_ERROR(co_await scan_->Open());
  uint64_t rows = 0;
  if (backfill_.needs_count()) {
    WALPOST_CO_ASSIGN_OR_RETURN(rows, co_await scan_->Count());
  }
  const bool may_hold_any_bytes = MayHoldAnyBytes(connection.server_encoding());
  co_return backfill_.OnTable(scan_->schema(), scan_->order_columns(),
                              may_hold_any_bytes, rows);
}

// Selects the rows from the key on. A literal without a type is not read as a
// composite one. NULLs come last, and a comparison with them is not true.
asio::awaitable<absl::StatusOr<TableFilter>> TablePublisher::FilterFromKey(
    Connection& connection) const {
  TableFilter filter = filter_;
  const ScanCursor::Key* key = backfill_.key();
  if (key == nullptr || key->empty()) co_return filter;
  const std::string& table = config_.outbox.tables[backfill_.table()].name;
  const std::vector<std::string>& order = backfill_.order_columns();
  std::vector<std::string> columns;
  std::vector<std::string> values;
  for (size_t i = 0; i < key->size() && (*key)[i]; ++i) {
    const std::string& column = order[i];
    WALPOST_CO_ASSIGN_OR_RETURN(const std::string type,
                                co_await ReadTypeOf(connection, table, column));
    columns.push_back(QuoteName(column));
    values.push_back(
        fmt::format("{}::{}", connection.Literal(*(*key)[i]), type));
  }
  std::string rest = QuoteName(order.front()) + " IS NULL";
  if (!columns.empty()) {
    rest =
        fmt::format("(({}) < ({})) IS NOT TRUE", absl::StrJoin(columns, ", "),
                    absl::StrJoin(values, ", "));
  }
  filter.where = filter.where.empty()
                     ? rest
                     : fmt::format("({}) AND {}", filter.where, rest);
  co_return filter;
}

asio::awaitable<absl::Status> TablePublisher::Read() {
  if (next_row_ == portion_) {
    WALPOST_CO_ASSIGN_OR_RETURN(portion_, co_await scan_->Fetch());
    next_row_ = 0;
  }
  if (portion_ == 0) {
    backfill_.OnTableEnd();
    co_return absl::OkStatus();
  }
  const size_t row = next_row_++;
  const RowOrigin origin =
      filter_.with_origin ? scan_->Origin(row) : RowOrigin::kOwn;
  backfill_.OnRow(scan_->Row(row), origin, WallNow());
  if (on_progress_) on_progress_(backfill_.handled(), backfill_.all());
  co_return absl::OkStatus();
}

asio::awaitable<void> TablePublisher::Wait() {
  const absl::Status trouble = run_.SinkTrouble(Clock::now());
  if (trouble.ok()) {
    co_await run_.Wait(kPause);
  } else {
    backfill_.OnSinkTrouble(trouble);
  }
}

asio::awaitable<void> TablePublisher::Commit() {
  std::string text = backfill_.ledger();
  const absl::Status committed =
      co_await ledger_->record.Commit(run_, std::move(text));
  backfill_.OnCommitted(committed);
}

// The transaction may continue, and needs the cursor's name again.
asio::awaitable<absl::Status> TablePublisher::CloseScan() {
  if (scan_ == nullptr) co_return absl::OkStatus();
  const std::unique_ptr<TableScan> scan = std::exchange(scan_, nullptr);
  co_return co_await scan->Close();
}

asio::awaitable<absl::Status> TablePublisher::Renew(MonotonicTime deadline) {
  co_await Close(deadline);
  backfill_.OnSinkReplaced();
  co_return run_.Start();
}

asio::awaitable<void> TablePublisher::Close(MonotonicTime deadline) {
  co_await run_.Close(deadline);
}

bool TablePublisher::sink_failed() const {
  return !run_.SinkTrouble(Clock::now()).ok();
}

void TablePublisher::Stop() {
  backfill_.Stop();
  run_.Wake();
}

}  // namespace walpost
