#include "polling/table_poller.h"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "polling/polling_check.h"
#include "postgres/catalog/publication_comment.h"
#include "postgres/catalog/table_rows.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr seconds kReportInterval{5};
// Interval for looking whether an operator has paused the table.
constexpr seconds kPauseInterval{2};
// Interval at which a standby tries to get the table.
constexpr milliseconds kStandbyInterval{500};
// Pause while there is no producer to send to, or no room.
constexpr milliseconds kNotReadyPause{50};

constexpr const char* kSettings[] = {
    // Every statement has an index, and the statistics of a queue are always
    // stale: the planner's assumptions must not matter.
    "enable_seqscan=off",
    "enable_bitmapscan=off",  // would visit all the dead entries each time
    "random_page_cost=1",     // the rows were written just now
    "work_mem=64MB",          // to hash few rows where it expects many
    "jit=off",                // would compile each time for a wrong cost
    // Our locks end soon after our machine or the network has failed.
    "tcp_keepalives_idle=10",
    "tcp_keepalives_interval=5",
    "tcp_keepalives_count=3",
};

ConnectionOptions MakeConnectionOptions(const TablePoller::Options& options) {
  ConnectionOptions connection;
  connection.server = options.server;
  connection.application_name = options.application_name;
  // The server's own limit for our transaction if this walpost freezes.
  connection.settings.push_back(fmt::format(
      "idle_in_transaction_session_timeout={}",
      (2 * options.polling.transaction_timeout + seconds(5)).count()));
  for (const char* setting : kSettings) {
    connection.settings.emplace_back(setting);
  }
  return connection;
}

}  // namespace

TablePoller::TablePoller(asio::any_io_executor executor, Options options,
                         PollingSender& outbound)
    : options_(std::move(options)),
      table_options_(options_.outbox.tables[options_.source]),
      polling_sender_(outbound),
      gauge_(table_options_.name),
      rows_(options_.outbox, options_.source, options_.polling.batch_size,
            outbound),
      connection_(executor, MakeConnectionOptions(options_),
                  [this] { return purge_at(); }),
      strategy_(
          MakePollingStrategy(table_options_.state,
                              {options_.polling, gauge_, connection_, rows_})),
      timer_(executor) {}

asio::awaitable<void> TablePoller::Run() {
  while (!is_done()) {
    const absl::Status status = co_await Session();
    ready_ = false;
    if (status.ok()) break;  // stopped, and settled
    connection_.Close();
    strategy_->OnConnectionLost();
    trouble_ = status;
    const milliseconds wait = connection_.NextWait();
    LogTrouble(wait);
    co_await WaitToReconnect(wait);
  }
  connection_.Close();
  ended_ = true;
}

void TablePoller::LogTrouble(milliseconds wait) {
  const std::string table = report().table;
  const std::string reason(absl::StripSuffix(trouble_.message(), ";"));
  const LogLevel level = trouble_line_.IsDue(reason, Clock::now())
                             ? LogLevel::kWarn
                             : LogLevel::kDebug;
  Log(level, {{"table", table}, {"reason_code", ReasonCodeOf(trouble_)}},
      "{}{}; trying again in {} ms",
      reason.starts_with("table ") ? "" : fmt::format("table {}: ", table),
      reason, wait.count());
}

asio::awaitable<void> TablePoller::WaitToReconnect(milliseconds wait) {
  const MonotonicTime again = Clock::now() + wait;
  while (Clock::now() < again) {
    co_await CallBackIfDue();
    if (is_done()) co_return;
    timer_.expires_at(std::min(again, purge_at()));
    co_await timer_.async_wait(kAsTuple);
  }
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
  connection_.Wake();
}

absl::Status TablePoller::trouble() const {
  if (connection_.is_open() && !strategy_->trouble().ok()) {
    return strategy_->trouble();
  }
  return trouble_;
}

asio::awaitable<absl::Status> TablePoller::Session() {
  co_await CallBackIfDue();
  absl::Status status = co_await connection_.Open();
  co_await CallBackIfDue();
  if (status.ok()) status = co_await Prepare();
  if (status.ok()) status = co_await Begin();
  if (!status.ok() || is_done()) co_return status;
  ++sessions_;
  ready_ = true;
  if (connection_.can_store()) trouble_ = absl::OkStatus();
  report_at_ = look_at_pause_at_ = Clock::now();
  LogInfo({{"table", report().table}},
          "table {}: polling in the order of column {}", report().table,
          rows_.table().order);
  while (status.ok() && !is_done()) {
    const MonotonicTime next = NextTurn(Clock::now());
    status = co_await connection_.Pause(next);
    if (status.ok()) status = co_await Turn();
  }
  co_return status;
}

asio::awaitable<absl::Status> TablePoller::CheckTable(PolledTable& table) {
  PollingCheck check(connection_.raw(), options_.polling, table_options_,
                     rows_.references());
  WALPOST_CO_ASSIGN_OR_RETURN(Findings findings, co_await check.Run());
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kWarning || sessions_ > 0) continue;
    LogFinding(finding);
  }
  if (const Finding* error = FirstError(findings)) {
    co_return absl::FailedPreconditionError(
        fmt::format("{} {}: {}", error->subject, error->text, error->remedy));
  }
  table = check.TakeTable();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> TablePoller::Prepare() {
  PolledTable table;
  WALPOST_CO_RETURN_IF_ERROR(co_await CheckTable(table));
  WALPOST_CO_ASSIGN_OR_RETURN(
      size_t longest,
      co_await ReadLongestText(connection_.raw(), table_options_.name,
                               table_options_.state.last_error));
  table.longest_error = longest;
  const absl::Status set =
      rows_.SetTable(std::move(table), connection_.raw().server_encoding());
  if (!set.ok() || options_.polling.notify.empty()) co_return set;
  const std::string listen =
      fmt::format("LISTEN {}", QuoteName(options_.polling.notify));
  co_return co_await connection_.Execute(listen);
}

asio::awaitable<absl::Status> TablePoller::Begin() {
  absl::Status status = co_await strategy_->Begin();
  while (status.ok() && strategy_->is_standby() && !stopping_) {
    const MonotonicTime again = Clock::now() + kStandbyInterval;
    status = co_await connection_.Pause(again);
    connection_.TakeNotified();
    if (status.ok()) status = co_await strategy_->Begin();
  }
  co_return status;
}

asio::awaitable<absl::Status> TablePoller::Turn() {
  if (connection_.TakeNotified()) strategy_->OnNotified();
  co_await CallBackIfDue();
  absl::Status status = co_await strategy_->Settle();
  if (status.ok() && connection_.can_store()) trouble_ = absl::OkStatus();
  MonotonicTime now = Clock::now();
  if (!status.ok() || now >= purge_at()) co_return status;
  if (now >= report_at_ && strategy_->may_report()) {
    status = co_await Report();
    if (!status.ok()) co_return status;
    now = Clock::now();
  }
  if (now >= look_at_pause_at_ && strategy_->may_report()) {
    status = co_await LookAtPause();
    if (!status.ok()) co_return status;
    now = Clock::now();
  }
  if (!MayTake(now) || now < strategy_->take_at()) {
    co_return absl::OkStatus();
  }
  co_return co_await strategy_->Take();
}

MonotonicTime TablePoller::NextTurn(MonotonicTime now) const {
  MonotonicTime next = std::min(purge_at(), strategy_->settle_at());
  if (strategy_->may_report()) {
    next = std::min({next, report_at_, look_at_pause_at_});
  }
  if (stopping_ || !pause_gate_.may_send()) return next;
  if (!polling_sender_.WantsRows(now))
    return std::min(next, now + kNotReadyPause);
  return std::min(next, strategy_->take_at());
}

asio::awaitable<absl::Status> TablePoller::Report() {
  report_at_ = Clock::now() + kReportInterval;
  const std::string gauges = strategy_->GaugesSql();
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Query(gauges));
  BacklogGauge::Reading reading;
  reading.pending = rows.Unsigned(0, 0);
  reading.failed = rows.Unsigned(0, 1);
  if (const auto first = rows.Get(0, 2)) reading.first = *first;
  if (rows.Get(0, 3)) {
    const double age = std::stod(rows.Text(0, 3));
    reading.age = milliseconds(static_cast<int64_t>(age * 1e3));
  }
  gauge_.OnReading(reading, Clock::now());
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> TablePoller::LookAtPause() {
  look_at_pause_at_ = Clock::now() + kPauseInterval;
  const std::string sql =
      ReadTableCommentSql(connection_.raw(), table_options_.name);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection_.Query(sql));
  const std::optional<PauseRecord> record = FindTablePause(rows.Text(0, 0));
  const bool has_changed = pause_gate_.Observe(record);
  if (has_changed && record && !record->is_paused) {
    LogInfo({{"table", report().table}}, "table {}: resumed by {}",
            report().table, record->by);
  }
  co_return absl::OkStatus();
}

MonotonicTime TablePoller::purge_at() const {
  return rows_.flight().in_flight() == 0 ? MonotonicTime::max()
                                         : strategy_->hold_ends_at();
}

asio::awaitable<void> TablePoller::CallBackIfDue() {
  if (Clock::now() < purge_at()) co_return;
  const std::string reason = strategy_->hold_ends_because();
  LogWarn({{"table", report().table}}, "table {}: calling back {} records: {}",
          report().table, rows_.flight().in_flight(), reason);
  polling_sender_.Purge(reason);
  while (rows_.flight().in_flight() > 0 && !abandoned_) {
    timer_.expires_after(milliseconds(20));
    co_await timer_.async_wait(kAsTuple);
  }
}

}  // namespace walpost
