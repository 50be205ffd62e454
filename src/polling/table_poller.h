// TablePoller: one outbox table, one connection, one loop.
//
//   connect ─▶ look at the table ─▶ turns ─┬─ connection lost: backoff, connect
//      ▲                                   └─ Stop: settle held rows, exit
//      └───────────────────────────────────┘
//
// A turn settles rows and takes new ones; the PollingStrategy knows how. Each
// table has its own poller, so that a problem with one table does not affect
// the others. They share the PollingSender.
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

#include "absl/status/status.h"
#include "checkpoint/pause_gate.h"
#include "log/repeated_line.h"
#include "outbox/options.h"
#include "polling/backlog_gauge.h"
#include "polling/polling_options.h"
#include "polling/polling_sender.h"
#include "polling/polling_strategy.h"
#include "polling/row_sender.h"
#include "polling/table_connection.h"
#include "postgres/connect/server_options.h"

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
              PollingSender& outbound);

  // Runs until Stop and until all held rows are settled, or until Abandon.
  boost::asio::awaitable<void> Run();
  // Stops claiming rows.
  void Stop();
  // Also stops settling: held rows become available by themselves.
  void Abandon();
  // Checks again: reports have arrived, or there is a producer.
  void Wake();

  bool has_ended() const { return ended_; }
  bool is_connected() const { return ready_; }
  bool was_ready() const { return sessions_ > 0; }
  // True if another walpost polls this table exclusively. This poller takes
  // over when the other one stops.
  bool is_standby() const {
    return connection_.is_open() && strategy_->is_standby();
  }
  // Why no row moves, or why it is not connected; ok while connecting for the
  // first time.
  absl::Status trouble() const;
  const PolledTableReport& report() const { return gauge_.report(); }
  PolledTableReport ReportAt(MonotonicTime now) const {
    return gauge_.ReportAt(now);
  }
  // An operator has paused the table; nullopt: no.
  std::optional<PauseRecord> pause() const { return pause_gate_.pause(); }
  uint64_t sessions() const { return sessions_; }
  const TableConnection& connection() const { return connection_; }

 private:
  // Until it is done, or an error of the connection.
  boost::asio::awaitable<absl::Status> Session();
  boost::asio::awaitable<absl::Status> Prepare();
  boost::asio::awaitable<absl::Status> CheckTable(PolledTable& table);
  // Until the strategy is not a standby.
  boost::asio::awaitable<absl::Status> Begin();
  boost::asio::awaitable<absl::Status> Turn();
  MonotonicTime NextTurn(MonotonicTime now) const;
  boost::asio::awaitable<absl::Status> Report();
  // Reads whether an operator has paused the table.
  boost::asio::awaitable<absl::Status> LookAtPause();
  bool MayTake(MonotonicTime now) const {
    return !stopping_ && pause_gate_.may_send() &&
           polling_sender_.WantsRows(now);
  }
  void LogTrouble(std::chrono::milliseconds wait);
  boost::asio::awaitable<void> WaitToReconnect(std::chrono::milliseconds wait);
  // Calls back the records in flight if it is time, and waits for that.
  boost::asio::awaitable<void> CallBackIfDue();

  // Time at which records in flight must be called back.
  MonotonicTime purge_at() const;
  bool is_done() const {
    return abandoned_ || (stopping_ && rows_.flight().empty());
  }

  const Options options_;
  const TableOptions& table_options_;
  PollingSender& polling_sender_;
  BacklogGauge gauge_;
  RowSender rows_;
  TableConnection connection_;
  std::unique_ptr<PollingStrategy> strategy_;
  boost::asio::steady_timer timer_;
  absl::Status trouble_;  // of the connection, or of a Store
  RepeatedLine trouble_line_;
  bool stopping_ = false;
  bool abandoned_ = false;
  bool ended_ = false;
  bool ready_ = false;
  uint64_t sessions_ = 0;
  MonotonicTime report_at_{};
  PauseGate pause_gate_;
  MonotonicTime look_at_pause_at_{};
};

}  // namespace walpost
