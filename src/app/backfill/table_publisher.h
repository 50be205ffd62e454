// TablePublisher: publishes rows of the outbox tables, bypassing the WAL.
//
//   TableScan ──▶ TableBackfill ──▶ DeliveryRun
//
// For rows that the slot cannot provide: rows from before it was created, rows
// lost in a gap, rows to be sent again. The records have the same bytes as
// those of the stream, plus a mark. TableBackfill decides; this class carries
// it out.
//
// Publish does it in one call. To survive a lost connection, a failed sink
// or an undeliverable row, call Continue repeatedly: it continues behind the
// last row that is done.
//
// Everything runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/sink/delivery_run.h"
#include "app/sink/ledger_record.h"
#include "backfill/table_backfill.h"
#include "config/config.h"
#include "delivery/record_sink.h"
#include "delivery/sender.h"
#include "postgres/connect/connection.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

class TablePublisher {
 public:
  // Rows go in transactions, and the record says how far they are.
  struct Ledger {
    std::string transactional_id;  // no other sink has it
    Lsn begins_at;                 // the slot
    LedgerRecord record;
  };
  struct Options {
    // Create fills in the fields that follow from others, and from the
    // configuration: on_error, preview, ledger.
    TableBackfill::Options rows;
    TableFilter filter;
    RecordMark mark;
    // Records have positions right before this LSN; 0/0: none.
    Lsn before;
    bool dry_run = false;  // only counts
    // How long the brokers may be silent; nullopt: forever.
    std::optional<std::chrono::seconds> silence_limit;
    // Whether rows may go to Kafka now; nullptr: always.
    std::function<bool()> may_send;
    std::function<void(uint64_t done, uint64_t all)> progress;
    // nullptr: no transactions. It outlives the publisher.
    Ledger* ledger = nullptr;
  };
  using Counts = TableBackfill::Counts;

  // kInvalidArgument, kFailedPrecondition: unsuitable configuration.
  static absl::StatusOr<std::unique_ptr<TablePublisher>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      SinkFactory sinks, Options options);

  // Reads in the open transaction of `connection`. Returns when everything is
  // acknowledged, or set aside (on_error). Fails at a row that cannot be
  // delivered, and names it.
  boost::asio::awaitable<absl::StatusOr<Counts>> Publish(
      Connection& connection);

  // The same, but may be called again after an error: on another connection if
  // the old one was lost, after Renew if the sink has failed. Rows that are
  // read twice count twice in Counts, but not in TableBackfill::done().
  //
  // Errors are those of TableBackfill, and of the two ends. Undeliverable row:
  // TableBackfill::stoppage().
  boost::asio::awaitable<absl::StatusOr<Counts>> Continue(
      Connection& connection);
  // Replaces the sink; drops records in flight. Not during Continue.
  boost::asio::awaitable<absl::Status> Renew(MonotonicTime deadline);
  // Lets the brokers acknowledge records in flight, until `deadline`.
  boost::asio::awaitable<void> Close(MonotonicTime deadline);
  // Stops Continue soon, for good.
  void Stop();

  // True if the sink must be replaced before the next Continue.
  bool sink_failed() const;
  TableBackfill& backfill() { return backfill_; }
  const TableBackfill& backfill() const { return backfill_; }
  const DeliveryRun& run() const { return run_; }

 private:
  TablePublisher(boost::asio::any_io_executor executor, const Config& config,
                 SinkFactory sinks, Options options,
                 std::unique_ptr<RecordBuilder> builder);

  boost::asio::awaitable<absl::Status> OpenLedger();
  boost::asio::awaitable<absl::Status> CarryOut(Connection& connection);
  boost::asio::awaitable<absl::Status> OpenTable(Connection& connection);
  boost::asio::awaitable<absl::StatusOr<TableFilter>> FilterFromKey(
      Connection& connection) const;
  boost::asio::awaitable<absl::Status> Read();
  boost::asio::awaitable<void> Wait();
  boost::asio::awaitable<void> Commit();
  boost::asio::awaitable<absl::Status> CloseScan();

  Config config_;
  TableFilter filter_;
  std::function<bool()> may_send_;
  std::function<void(uint64_t, uint64_t)> on_progress_;
  Ledger* ledger_;
  DeliveryRun run_;
  TableBackfill backfill_;

  std::unique_ptr<TableScan> scan_;  // of the current table
  size_t portion_ = 0;               // rows of it that can be read now
  size_t next_row_ = 0;              // of the portion
};

}  // namespace walpost
