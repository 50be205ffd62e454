// TablePoller: one outbox table, one connection, one loop.
//
//   connect ─▶ look at the table ─▶ Serve ─┬─ connection lost: backoff, connect
//      ▲                                   └─ Stop: settle held rows, exit
//      └───────────────────────────────────┘
//
// The common part of all strategies; Serve handles the rows. Each table has its
// own poller, so that a problem with one table does not affect the others. They
// share the Outbound.
//
// Owned by the PollingRelay, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "outbox/options.h"
#include "outbox/table_mapper.h"
#include "polling/backlog_gauge.h"
#include "polling/claim_sql.h"
#include "polling/outbound.h"
#include "polling/polled_table.h"
#include "polling/polling_options.h"
#include "polling/retry_memory.h"
#include "polling/retry_schedule.h"
#include "postgres/connection.h"
#include "postgres/portion.h"
#include "postgres/table_rows.h"

namespace walpost {

class TablePoller {
 public:
  struct Options {
    ServerOptions server;
    std::string application_name;
    PollingOptions polling;
    OutboxOptions outbox;
    size_t source = 0;  // index into outbox.tables
  };

  // `outbound` outlives this object.
  TablePoller(boost::asio::any_io_executor executor, Options options,
              Outbound& outbound);
  virtual ~TablePoller() = default;

  // Runs until Stop and until all held rows are settled, or until Abandon.
  boost::asio::awaitable<void> Run();
  // Stops claiming rows.
  void Stop();
  // Stops settling, too: held rows come back by themselves.
  void Abandon();
  // Checks again: reports have arrived, or there is a producer.
  void Wake();

  bool has_ended() const { return ended_; }
  bool is_connected() const { return connection_ != nullptr && ready_; }
  bool was_ready() const { return was_ready_; }
  // Another walpost polls this table exclusively; takes over when it stops.
  bool is_standby() const { return standby_; }
  // Why it is not connected; ok while connected or connecting.
  const absl::Status& trouble() const { return trouble_; }
  const PolledTableReport& report() const { return gauge_.report(); }
  uint64_t sessions() const { return sessions_; }
  const RowFlight& flight() const { return flight_; }
  // How long the current statement has been running; 0: none runs.
  std::chrono::milliseconds answer_awaited_for(MonotonicTime now) const {
    if (!asked_at_) return {};
    return std::chrono::duration_cast<std::chrono::milliseconds>(now -
                                                                 *asked_at_);
  }
  int server_version() const { return server_version_; }

 protected:
  // Pause while there is no producer to send to, or no room.
  static constexpr std::chrono::milliseconds kNotReadyPause{50};

  // Runs until stopping() and nothing is held; or an error of the connection.
  virtual boost::asio::awaitable<absl::Status> Serve() = 0;
  // Time at which records in flight must be called back, unless it is extended;
  // without a connection it cannot be.
  virtual MonotonicTime purge_at() const = 0;
  virtual boost::asio::awaitable<absl::Status> BeginSession() = 0;
  // A query that returns one row like TableSql::Gauges.
  virtual std::string GaugesSql();

  // Calls back records in flight if it is time, and waits for that.
  boost::asio::awaitable<void> CallBackIfDue();
  boost::asio::awaitable<void> CallBack(std::string reason);

  boost::asio::awaitable<absl::StatusOr<QueryRows>> Query(std::string sql);
  boost::asio::awaitable<absl::Status> Execute(std::string sql);
  // Returns at `until`, or earlier after Wake or a notification.
  boost::asio::awaitable<absl::Status> Pause(MonotonicTime until);
  boost::asio::awaitable<absl::Status> ReportIfDue();

  // Notes whether the results of rows could be stored. After a failure, until
  // it works again, they are not sent again and trouble() stays set.
  void NoteSettled(const absl::Status& status);

  // Passes the rows of a result to the Outbound, in order. After a row that was
  // not sent, later ones of its aggregate, or all, are returned. Rows in
  // `unmarked_` are already acknowledged.
  enum class HoldUp { kAggregate, kAll };
  void SendRows(const QueryRows& rows, MonotonicTime now,
                HoldUp hold_up = HoldUp::kAggregate);
  // The statement that stores a rejection; empty: the table cannot.
  std::string NoteRefusal(const RowFlight::Refusal& refusal, MonotonicTime now,
                          const LeaseMark& mark = {});

  // Notes the result of a look; decides how far the next one goes.
  void NoteLook(size_t rows);
  size_t far() const { return far_; }

  // The statements for this table. Valid only while table_ is unchanged.
  ClaimSql MakeClaimSql();
  // For operations that are retried as a whole, not row by row.
  Backoff::Options RetryBackoff() const;

  std::string Literal(std::string_view text) {
    return connection_->Literal(text);
  }
  std::string role() const { return PQuser(connection_->raw()); }
  bool stopping() const { return stopping_; }
  // True if there was a notification since the last call.
  bool TakeNotified() { return std::exchange(notified_, false); }
  MonotonicTime report_at() const { return report_at_; }

  Options options_;
  Outbound& outbound_;
  RowFlight flight_;
  // Ids of rows that are in Kafka but could not be marked.
  absl::flat_hash_set<std::string> unmarked_;
  RetryMemory memory_;
  RetrySchedule schedule_;
  Portion portion_;
  std::optional<PolledTable> table_;
  absl::Status trouble_;
  bool standby_ = false;

 private:
  boost::asio::awaitable<absl::Status> Session();
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> CheckTable();
  // `limit` from now, but not beyond purge_at().
  MonotonicTime Within(std::chrono::milliseconds limit) const;
  boost::asio::awaitable<absl::Status> Prepare();
  void TakeNotifications();
  std::string AggregateOf(const QueryRows& rows, size_t row) const;

  boost::asio::any_io_executor executor_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<TableMapper> mapper_;
  RowTuple tuple_;
  boost::asio::steady_timer timer_;
  Backoff backoff_;
  bool stopping_ = false;
  bool abandoned_ = false;
  bool ended_ = false;
  bool ready_ = false;
  bool was_ready_ = false;
  bool notified_ = false;
  bool settling_fails_ = false;
  size_t far_ = 0;  // rows
  std::optional<MonotonicTime> asked_at_;
  uint64_t sessions_ = 0;
  int server_version_ = 0;

  BacklogGauge gauge_;
  MonotonicTime report_at_{};
};

}  // namespace walpost
