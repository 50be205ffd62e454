#include "polling/table_poller.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <utility>

#include "base/session_settings.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "polling/polling_check.h"
#include "postgres/quote.h"
#include "postgres/sqlstate.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr milliseconds kConnectTimeout{10'000};
// A longer statement means that the server is lost.
constexpr seconds kStatementTimeout{60};
constexpr seconds kReportInterval{5};
constexpr size_t kMaxErrorLength = 1'000;  // bytes
constexpr size_t kFarthest = 256;  // in batches, of a look past locked rows

// Every statement has an index, and the statistics of a queue are always stale:
// the planner's assumptions must not matter.
constexpr const char* kPlannerSettings[] = {
    "enable_seqscan=off",
    "enable_bitmapscan=off",  // would visit all the dead entries each time
    "random_page_cost=1",     // the rows were written just now
    "work_mem=64MB",          // to hash few rows where it expects many
    "jit=off",                // would compile each time for a wrong cost
};

}  // namespace

TablePoller::TablePoller(asio::any_io_executor executor, Options options,
                         Outbound& outbound)
    : options_(std::move(options)),
      outbound_(outbound),
      schedule_(options_.polling, std::random_device()()),
      portion_(options_.polling.batch_size),
      executor_(executor),
      timer_(executor),
      backoff_(Backoff::Options{}, std::random_device()()),
      gauge_(options_.outbox.tables[options_.source].name) {}

asio::awaitable<void> TablePoller::Run() {
  while (!abandoned_ && !(stopping_ && flight_.empty())) {
    const absl::Status status = co_await Session();
    ready_ = false;
    standby_ = false;
    if (status.ok()) break;  // stopped, and settled
    connection_.reset();
    trouble_ = status;
    const milliseconds wait = backoff_.Next();
    const std::string text(status.message());
    spdlog::warn("table {}: {}; trying again in {} ms", report().table, text,
                 wait.count());
    const MonotonicTime again = Clock::now() + wait;
    while (Clock::now() < again) {
      co_await CallBackIfDue();
      if (abandoned_ || (stopping_ && flight_.empty())) break;
      timer_.expires_at(std::min(again, purge_at()));
      co_await timer_.async_wait(kAsTuple);
    }
  }
  connection_.reset();
  ended_ = true;
}

void TablePoller::Stop() {
  stopping_ = true;
  Wake();
}

void TablePoller::Abandon() {
  abandoned_ = true;
  Stop();
}

void TablePoller::Wake() {
  timer_.cancel();
  if (connection_ != nullptr) connection_->waiter().Wake();
}

asio::awaitable<absl::Status> TablePoller::Session() {
  absl::Status status = co_await Connect();
  if (status.ok()) status = co_await Prepare();
  if (!status.ok()) co_return status;
  if (stopping_ && flight_.empty()) co_return absl::OkStatus();
  ++sessions_;
  ready_ = true;
  was_ready_ = true;
  if (!settling_fails_) trouble_ = absl::OkStatus();
  report_at_ = Clock::now();
  spdlog::info("table {}: polling in the order of column {}", report().table,
               table_->order);
  status = co_await Serve();
  co_return status;
}

asio::awaitable<absl::Status> TablePoller::Connect() {
  co_await CallBackIfDue();
  ConnectionOptions options;
  options.server = options_.server;
  options.application_name = options_.application_name;
  // The server's own limit for our transaction if this walpost freezes.
  options.settings.push_back(fmt::format(
      "idle_in_transaction_session_timeout={}",
      (2 * options_.polling.transaction_timeout + seconds(5)).count()));
  for (const char* setting : kPlannerSettings) {
    options.settings.emplace_back(setting);
  }
  // Our locks end soon after our machine or the network has failed.
  for (const char* keepalive :
       {"tcp_keepalives_idle=10", "tcp_keepalives_interval=5",
        "tcp_keepalives_count=3"}) {
    options.settings.emplace_back(keepalive);
  }
  const auto left = std::chrono::duration_cast<milliseconds>(
      Within(kConnectTimeout) - Clock::now());
  options.connect_timeout = std::max(left, milliseconds(100));
  absl::StatusOr<std::unique_ptr<Connection>> connected =
      co_await Connection::Connect(executor_, options);
  co_await CallBackIfDue();
  if (!connected.ok()) co_return connected.status();
  connection_ = *std::move(connected);
  connection_->set_deadline(Within(kStatementTimeout));
  server_version_ = connection_->server_version();
  co_return absl::OkStatus();
}

MonotonicTime TablePoller::Within(milliseconds limit) const {
  return std::min(purge_at(), Clock::now() + limit);
}

asio::awaitable<absl::Status> TablePoller::CheckTable() {
  const TableOptions& options = options_.outbox.tables[options_.source];
  PollingCheck check(*connection_, options_.polling, options);
  absl::StatusOr<std::vector<Finding>> findings = co_await check.Run();
  if (!findings.ok()) co_return findings.status();
  for (const Finding& finding : *findings) {
    if (finding.severity != Severity::kWarning || sessions_ > 0) continue;
    spdlog::warn("{} {}: {}", finding.subject, finding.text, finding.remedy);
  }
  if (const Finding* error = FirstError(*findings)) {
    co_return absl::FailedPreconditionError(
        fmt::format("{} {}: {}", error->subject, error->text, error->remedy));
  }
  table_ = check.TakeTable();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> TablePoller::Prepare() {
  const absl::Status checked = co_await CheckTable();
  if (!checked.ok()) co_return checked;
  const TableOptions& options = options_.outbox.tables[options_.source];
  absl::StatusOr<size_t> longest = co_await ReadLongestText(
      *connection_, options.name, options.state.last_error);
  if (!longest.ok()) co_return longest.status();
  table_->longest_error = *longest;
  const std::vector<std::string>& references =
      outbound_.builder().routes()[options_.source].references();
  absl::StatusOr<std::unique_ptr<TableMapper>> mapper =
      TableMapper::Create(options, table_->schema, references);
  if (!mapper.ok()) co_return mapper.status();
  mapper_ = *std::move(mapper);
  if (MayHoldAnyBytes(connection_->server_encoding())) mapper_->RequireUtf8();
  if (!options_.polling.notify.empty()) {
    const std::string listen =
        fmt::format("LISTEN {}", QuoteName(options_.polling.notify));
    const absl::Status listening = co_await Execute(listen);
    if (!listening.ok()) co_return listening;
  }
  co_return co_await BeginSession();
}

asio::awaitable<void> TablePoller::CallBackIfDue() {
  if (Clock::now() < purge_at()) co_return;
  const std::string reason = "its rows cannot be held any longer";
  co_await CallBack(reason);
}

asio::awaitable<void> TablePoller::CallBack(std::string reason) {
  if (flight_.in_flight() == 0) co_return;
  spdlog::warn("table {}: calling back {} records: {}", report().table,
               flight_.in_flight(), reason);
  outbound_.Purge(reason);
  while (flight_.in_flight() > 0 && !abandoned_) {
    timer_.expires_after(milliseconds(20));
    co_await timer_.async_wait(kAsTuple);
  }
}

asio::awaitable<absl::StatusOr<QueryRows>> TablePoller::Query(std::string sql) {
  connection_->set_deadline(Within(kStatementTimeout));
  asked_at_ = Clock::now();
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  asked_at_.reset();
  TakeNotifications();
  if (rows.ok() && !settling_fails_) backoff_.Reset();
  co_return rows;
}

// A lost connection says nothing about the statement.
void TablePoller::NoteSettled(const absl::Status& status) {
  if (status.ok()) {
    if (settling_fails_) trouble_ = absl::OkStatus();
    settling_fails_ = false;
  } else if (PQstatus(connection_->raw()) == CONNECTION_OK) {
    settling_fails_ = true;
  }
}

asio::awaitable<absl::Status> TablePoller::Execute(std::string sql) {
  absl::StatusOr<QueryRows> rows = co_await Query(sql);
  co_return rows.status();
}

asio::awaitable<absl::Status> TablePoller::Pause(MonotonicTime until) {
  if (notified_) co_return absl::OkStatus();
  co_await connection_->waiter().Wait(SocketWaiter::Interest::kRead, until);
  if (PQconsumeInput(connection_->raw()) == 0) {
    co_return StatusFromConnection(connection_->raw(), "polling");
  }
  TakeNotifications();
  co_return absl::OkStatus();
}

void TablePoller::TakeNotifications() {
  while (PGnotify* notification = PQnotifies(connection_->raw())) {
    notified_ = true;
    PQfreemem(notification);
  }
}

asio::awaitable<absl::Status> TablePoller::ReportIfDue() {
  const MonotonicTime now = Clock::now();
  if (now < report_at_) co_return absl::OkStatus();
  report_at_ = now + kReportInterval;
  const std::string gauges = GaugesSql();
  absl::StatusOr<QueryRows> rows = co_await Query(gauges);
  if (!rows.ok()) co_return rows.status();
  BacklogGauge::Reading reading;
  reading.pending = rows->Unsigned(0, 0);
  reading.failed = rows->Unsigned(0, 1);
  if (const auto first = rows->Get(0, 2)) reading.first = *first;
  if (rows->Get(0, 3)) {
    const double age = std::stod(rows->Text(0, 3));
    reading.age = milliseconds(static_cast<int64_t>(age * 1e3));
  }
  gauge_.OnReading(reading, Clock::now());
  co_return absl::OkStatus();
}

std::string TablePoller::GaugesSql() { return MakeClaimSql().Gauges(); }

ClaimSql TablePoller::MakeClaimSql() {
  return ClaimSql(*table_, options_.polling.lease,
                  [this](std::string_view text) { return Literal(text); });
}

void TablePoller::NoteLook(size_t rows) {
  if (rows > 0) return;
  const size_t batch = options_.polling.batch_size;
  far_ = far_ == 0 ? batch : 4 * far_;
  if (far_ > kFarthest * batch || report().pending == 0) far_ = 0;
}

Backoff::Options TablePoller::RetryBackoff() const {
  Backoff::Options backoff;
  backoff.initial = options_.polling.retry_backoff;
  backoff.cap = options_.polling.retry_backoff_max;
  return backoff;
}

// Empty: the row waits for no other.
std::string TablePoller::AggregateOf(const QueryRows& rows, size_t row) const {
  std::string key;
  for (const std::string& column : table_->aggregate) {
    const auto value = rows.Get(row, *table_->schema.FindColumn(column));
    if (!value) return "";
    key += fmt::format("{}:{}", value->size(), *value);
  }
  return key;
}

void TablePoller::SendRows(const QueryRows& rows, MonotonicTime now,
                           HoldUp hold_up) {
  const size_t columns = table_->schema.columns.size();
  const size_t id = *table_->schema.FindColumn(table_->id);
  const auto attempts = table_->schema.FindColumn(table_->state.attempts);
  absl::flat_hash_set<std::string> held_up;  // aggregates
  bool all_held_up = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    RowFlight::Row row{rows.Text(i, id), 0, now};
    row.attempts = memory_.attempts(row.id);
    if (attempts) {
      row.attempts =
          std::strtoull(rows.Text(i, *attempts).c_str(), nullptr, 10);
    }
    if (unmarked_.contains(row.id)) {
      flight_.AddAcknowledged(std::move(row));
      continue;
    }
    const std::string aggregate = AggregateOf(rows, i);
    if (all_held_up || held_up.contains(aggregate)) {
      flight_.Return(std::move(row));
      continue;
    }
    Event event;
    event.source = options_.source;
    event.commit_time = WallNow();
    const absl::Status mapped =
        mapper_->Map(tuple_.Read(rows, i, columns), event);
    if (outbound_.Send(event, mapped, std::move(row), flight_) ==
        Outbound::Sent::kSent) {
      continue;
    }
    all_held_up = hold_up == HoldUp::kAll;
    if (!aggregate.empty()) held_up.insert(aggregate);
  }
}

std::string TablePoller::NoteRefusal(const RowFlight::Refusal& refusal,
                                     MonotonicTime now, const LeaseMark& mark) {
  const ClaimSql sql = MakeClaimSql();
  const uint64_t attempts = refusal.row.attempts + 1;
  const RetrySchedule::Decision decision =
      schedule_.AfterRefusal(attempts, table_->state.can_fail());
  RefusedRow row;
  row.id = refusal.row.id;
  row.error = ValidUtf8(std::string(refusal.reason.message()), kMaxErrorLength);
  row.retry_in = decision.retry_in;
  row.give_up = decision.give_up;
  spdlog::warn("table {}: row {} was rejected (attempt {}): {}; {}",
               report().table, row.id, attempts, row.error,
               row.give_up
                   ? std::string("marked as failed")
                   : fmt::format("again in {} ms", row.retry_in.count()));
  if (row.give_up) {
    memory_.Forget(row.id);
  } else if (!sql.keeps_retry_time() || table_->state.attempts.empty()) {
    memory_.OnRefused(row.id, now + row.retry_in);
  }
  return sql.Refuse(row, mark);
}

}  // namespace walpost
