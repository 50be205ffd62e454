// PollingStrategy: how rows of a table are held while they are sent, and how
// their results are stored. TablePoller drives it:
//
//   Begin ─▶ Take ─▶ (brokers) ─▶ Settle ─▶ Take ...
//
//  - Take reads rows and passes them to the RowSender; Settle stores the
//    results that the brokers have reported so far. Neither waits for Kafka.
//    Rows in the flight are this poller's until hold_ends_at(): then their
//    records are called back, and Settle gets them as returned.
//  - The strategy owns all statements about rows. A transaction that it leaves
//    open is its own: may_report() keeps other statements out of it.
//  - An error means that the connection must be replaced, whatever failed: it
//    is closed, its transaction and locks with it, and OnConnectionLost is
//    called; Begin comes next. Rows in flight stay, as long as they are held.
//  - A row that cannot be delivered is not an error. If it stops the table,
//    trouble() says so.
//
// One strategy for one table, owned by its TablePoller, used by one coroutine.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/time.h"
#include "polling/backlog_gauge.h"
#include "polling/polling_options.h"
#include "polling/row_sender.h"
#include "polling/table_connection.h"

namespace walpost {

class PollingStrategy {
 public:
  virtual ~PollingStrategy() = default;

  // Called on a new connection, after the table was checked and set in the
  // RowSender. If is_standby() afterwards, it is called again soon.
  virtual boost::asio::awaitable<absl::Status> Begin() = 0;
  // Called at take_at() or later, if the brokers can take rows; not after the
  // poller was stopped.
  virtual boost::asio::awaitable<absl::Status> Take() = 0;
  // Called every turn; most times it has nothing to do.
  virtual boost::asio::awaitable<absl::Status> Settle() = 0;
  // Called when the table has new rows.
  virtual void OnNotified() = 0;
  virtual void OnConnectionLost() {}

  virtual MonotonicTime take_at() const = 0;
  virtual MonotonicTime settle_at() const = 0;
  // Asked only while rows are in flight; `because` is for the log.
  virtual MonotonicTime hold_ends_at() const = 0;
  virtual std::string hold_ends_because() const {
    return "its rows cannot be held any longer";
  }

  // A query that returns one row like TableSql::Gauges.
  virtual std::string GaugesSql() const = 0;
  virtual bool may_report() const { return true; }
  // True if another walpost has this table exclusively.
  virtual bool is_standby() const { return false; }
  // Why no row moves although Postgres answers; else ok.
  virtual absl::Status trouble() const { return absl::OkStatus(); }
};

// The objects that a strategy works with. The TablePoller owns all of them.
struct PollingContext {
  const PollingOptions& options;
  const BacklogGauge& gauge;
  TableConnection& connection;
  RowSender& rows;
};

// `claim` on a table with a lease; `claim` and `delete` with a lease table.
std::unique_ptr<PollingStrategy> MakeLeaseStrategy(PollingContext context);
// `claim` and `delete` otherwise.
std::unique_ptr<PollingStrategy> MakeLockStrategy(PollingContext context);
std::unique_ptr<PollingStrategy> MakeCursorStrategy(PollingContext context);

// The configured strategy for a table.
std::unique_ptr<PollingStrategy> MakePollingStrategy(
    const RowStateOptions& state, PollingContext context);

}  // namespace walpost
