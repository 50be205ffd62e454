// TablePublisher: publishes rows of the outbox tables, bypassing the WAL.
//
//   TableScan ──▶ TableMapper ──▶ DeliveryRun
//                      └── ScanCursor ◀── acknowledgements
//
// For rows that the slot cannot provide: rows from before it was created, rows
// lost in a gap, rows to be sent again. The records have the same bytes as
// those of the stream, plus a mark.
//
// With a ledger the rows are in Kafka transactions, and done when these are
// committed; the next publisher, also in another process, continues there.
//
// Publish does it in one call. To survive a lost connection, a failed sink
// or an undeliverable row, call Continue repeatedly: it continues behind the
// last acknowledged row.
//
// Everything runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/backfill/scan_cursor.h"
#include "app/backfill/snapshot_ledger.h"
#include "app/backfill/snapshot_progress.h"
#include "app/sink/delivery_run.h"
#include "config/config.h"
#include "delivery/rate_limit.h"
#include "delivery/record_sink.h"
#include "delivery/sender.h"
#include "outbox/event_set.h"
#include "outbox/events_on_record.h"
#include "outbox/table_mapper.h"
#include "postgres/connect/connection.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

class TablePublisher {
 public:
  struct Options {
    std::vector<std::string> tables;  // of outbox.tables; empty: all
    TableFilter filter;
    RecordMark mark;
    // Records have positions right before this LSN; 0/0: none.
    Lsn before;
    // Ordinal before the first of these positions.
    uint64_t ordinals_after = 0;
    uint32_t timeline = 0;
    // Whether to send a row, given its event and its topic; nullptr: all.
    std::function<absl::StatusOr<bool>(const Event& event,
                                       std::string_view topic)>
        is_wanted;
    // Rows that are on record are left out, and is_wanted is not asked.
    std::optional<EventsOnRecord> on_record;
    bool dry_run = false;  // only counts
    // What becomes of a row that is not in Kafka; nullptr: nobody asks.
    std::function<void(const Event& event, std::string_view what)> on_row;
    uint64_t per_second = 0;  // records; 0: no limit
    // How long the brokers may be silent; nullopt: forever.
    std::optional<std::chrono::seconds> silence_limit;
    // Whether rows may go to Kafka now; nullptr: always.
    std::function<bool()> may_send;
    std::function<void(uint64_t done, uint64_t all)> progress;
    // nullptr: no transactions. It outlives the publisher.
    SnapshotLedger* ledger = nullptr;
  };
  struct Counts {
    uint64_t rows = 0;  // that passed the filter
    // Wanted and deliverable rows; acknowledged, unless dry_run.
    uint64_t published = 0;
    uint64_t set_aside = 0;      // wanted, but not deliverable (on_error)
    DispositionCounts left_out;  // on record
    uint64_t other_origin = 0;   // left out, because they were replicated
  };

  // kInvalidArgument, kFailedPrecondition: unsuitable configuration.
  static absl::StatusOr<std::unique_ptr<TablePublisher>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      SinkFactory sinks, Options options);

  // Reads in the open transaction of `connection`. Returns when everything is
  // acknowledged. Fails at a row that cannot be delivered, and names it.
  boost::asio::awaitable<absl::StatusOr<Counts>> Publish(
      Connection& connection);

  // The same, but may be called again after an error: on another connection if
  // the old one was lost, after Renew if the sink has failed. Rows that are
  // read twice count twice in Counts, but not in done().
  //
  // kCancelled: Stop was called. Undeliverable row: see stoppage(). With
  // postgres.origin: none, kFailedPrecondition: a row that is wanted may have
  // been replicated or not; names the remedy.
  boost::asio::awaitable<absl::StatusOr<Counts>> Continue(
      Connection& connection);
  // Replaces the sink; drops records in flight. Not during Continue.
  boost::asio::awaitable<absl::Status> Renew(MonotonicTime deadline);
  // Lets the brokers acknowledge records in flight, until `deadline`.
  boost::asio::awaitable<void> Close(MonotonicTime deadline);
  // Stops Continue soon, for good.
  void Stop();

  // The row that stops the flow, since the last Continue.
  const std::optional<BlockedEvent>& stoppage() const { return blocked_event_; }
  // Rows that the next Continue leaves out, as if they were done.
  void SetLeftOut(EventSet rows) { left_out_ = std::move(rows); }
  // Likewise rows that are on record, as of now.
  void SetOnRecord(EventsOnRecord events) {
    options_.on_record = std::move(events);
  }
  const DispositionCounts& left_out() const { return counts_.left_out; }
  uint64_t other_origin() const { return counts_.other_origin; }

  // True if the sink must be replaced before the next Continue.
  bool sink_failed() const;
  const DeliveryRun& run() const { return run_; }
  // Rows that are done: in Kafka, or not wanted; and their total in the tables
  // opened so far.
  uint64_t done() const { return progress_.rows_done + place_.done(); }
  uint64_t all() const { return all_; }

 private:
  TablePublisher(boost::asio::any_io_executor executor, const Config& config,
                 SinkFactory sinks, Options options,
                 std::unique_ptr<RecordBuilder> builder);

  // See table_publisher_ledger.cc.
  boost::asio::awaitable<absl::Status> OpenLedger();
  void RecallPlace();
  void NoteForLedger(const Event& row);
  bool IsCommitDue() const;
  // Waits for the acknowledgements, and commits.
  boost::asio::awaitable<absl::Status> Settle();

  boost::asio::awaitable<absl::Status> ContinueTables(Connection& connection);
  boost::asio::awaitable<absl::Status> PublishTable(Connection& connection);
  boost::asio::awaitable<absl::Status> OpenScan(TableScan& scan);
  boost::asio::awaitable<absl::Status> PublishPortion(TableScan& scan,
                                                      size_t rows);
  bool MaySend() const { return !options_.may_send || options_.may_send(); }
  boost::asio::awaitable<absl::Status> WaitWhilePaused();
  boost::asio::awaitable<absl::Status> PublishRow(
      const pgoutput::TupleData& row, RowOrigin origin);
  absl::Status UnknownOrigin(const Event& event) const;
  absl::Status MakeMapper(const pgoutput::RelationSchema& schema);
  bool IsMeant(const std::string& table) const;
  bool LeavesOut(const Event& event, RowOrigin origin);
  absl::StatusOr<bool> IsWanted(const Event& event, const absl::Status& mapped);
  bool IsSetAside(const Event& event, const absl::Status& reason);
  absl::Status Preview(const Event& event, absl::Status mapped);
  void ReportRow(const Event& event, std::string_view what) const;
  void CountSetAside();
  boost::asio::awaitable<absl::Status> Offer(Event& event, absl::Status mapped);
  boost::asio::awaitable<absl::Status> WaitForAcknowledgements();
  boost::asio::awaitable<absl::Status> ReadOrderTypes(Connection& connection);
  TableFilter FilterFromPlace(Connection& connection) const;
  void NoteAcknowledged();
  absl::Status Undeliverable(BlockedEvent stoppage);
  absl::Status Health();

  Config config_;
  Options options_;
  DeliveryRun run_;
  bool stopped_ = false;

  SnapshotProgress
      progress_;  // without a ledger, too: the tables that are done
  bool ledger_is_open_ = false;
  EventSet left_out_;

  size_t source_ = 0;                     // the current table
  bool counted_ = false;                  // its rows are in all_
  std::vector<std::string> order_types_;  // of order_columns_, as SQL
  std::vector<std::string> order_columns_;
  std::vector<size_t> order_indexes_;
  ScanCursor place_;  // in the current table
  std::unique_ptr<TableMapper> mapper_;
  std::unique_ptr<RecordBuilder> preview_;  // in a dry run

  std::optional<BlockedEvent> blocked_event_;
  Position last_position_;  // of the record taken last
  std::string last_id_;
  ScanCursor::Content last_content_ = 0;
  // A row that the brokers rejected, to be set aside when it is read again.
  std::optional<std::pair<ScanCursor::Content, absl::Status>> refused_row_;

  std::string topic_;  // of the current event
  Counts counts_;
  uint64_t all_ = 0;
  uint64_t ordinal_ = 0;
  RateLimit rate_;
};

}  // namespace walpost
