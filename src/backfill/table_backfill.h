// TableBackfill: decides how rows of the outbox tables go out, bypassing the
// WAL: table by table, in the order of a scan, through a Sender.
//
//   Begin ──▶ Next ──▶ kOpenTable ──▶ OnTable ──▶ Next ──▶ ... ──▶ kEnd
//              ├──▶ kRead ───▶ OnRow, or OnTableEnd
//              └──▶ kCommit ─▶ OnCommitted
//
// A round that fails is followed by another Begin, on another connection if the
// old one was lost, and after OnSinkReplaced if the sink has failed. It
// continues behind the last acknowledged row (scan_cursor.h).
//
// With a ledger the rows are in Kafka transactions, each of which also has the
// progress: rows are done when they are committed. After a take-over the ledger
// counts (Load), and not the memory of this process, because another process
// may have continued.
//
// Pure: time comes in as a parameter. One owner drives it, beside its Sender.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backfill/commit_pace.h"
#include "backfill/scan_cursor.h"
#include "backfill/snapshot_progress.h"
#include "base/lsn.h"
#include "base/time.h"
#include "delivery/rate_limit.h"
#include "delivery/sender.h"
#include "outbox/event_set.h"
#include "outbox/events_on_record.h"
#include "outbox/options.h"
#include "outbox/row_origin.h"
#include "outbox/table_mapper.h"

namespace walpost {

class TableBackfill {
 public:
  struct Options {
    std::vector<std::string> tables;  // of outbox.tables; empty: all
    // Ordinal before the first of the records' positions.
    uint64_t ordinals_after = 0;
    uint32_t timeline = 0;
    // Whether to send a row, given its event and its topic; nullptr: all.
    std::function<absl::StatusOr<bool>(const Event& event,
                                       std::string_view topic)>
        is_wanted;
    // Rows that are on record are left out, and is_wanted is not asked.
    std::optional<EventsOnRecord> on_record;
    uint64_t per_second = 0;  // records; 0: no limit
    ErrorActions on_error;
    // A dry run, which only counts what this would build; nullptr: none.
    std::unique_ptr<RecordBuilder> preview;
    // Gets what becomes of each row that is not in Kafka; nullptr: nobody asks.
    std::function<void(const Event& event, std::string_view what)> on_row;
    // Rows are in transactions, with a ledger for the slot that begins here.
    std::optional<Lsn> ledger;
  };
  struct Counts {
    uint64_t rows = 0;  // that passed the filter
    // Wanted and deliverable rows; acknowledged, unless in a dry run.
    uint64_t published = 0;
    uint64_t set_aside = 0;      // wanted, but not deliverable (on_error)
    DispositionCounts left_out;  // on record
    uint64_t other_origin = 0;   // left out, because they were replicated
  };
  enum class Do {
    kOpenTable,  // scan table(), from place() on: OnTable
    kRead,       // the next row of the scan: OnRow, or OnTableEnd
    kWait,       // for reports, for room, or for a while
    kCommit,     // what is acknowledged, with ledger(): OnCommitted
    kEnd,        // of the round: status()
  };

  // `outbox` and `sender` outlive this object. The sender has no other source.
  TableBackfill(const OutboxOptions& outbox, Sender& sender, Options options);

  // True if Load must come before the next Begin.
  bool needs_ledger() const { return options_.ledger && !is_loaded_; }
  // The ledger's text, each time that the sink has taken over from others;
  // empty: there is none. That of another slot does not count. kDataLoss: the
  // text is no ledger.
  absl::Status Load(std::string_view text);

  void Begin();
  // `may_send`: nobody has paused the flow.
  Do Next(MonotonicTime now, bool may_send);
  // Connecting, or opening a table, has failed.
  void Fail(absl::Status reason);
  // The sink makes no progress, for a reason that the owner knows, such as
  // silence.
  void OnSinkTrouble(const absl::Status& trouble);
  // Ends the round soon, and each later one.
  void Stop() { is_stopped_ = true; }

  // The table to scan, of outbox.tables. The scan is in the order of
  // order_columns() from key() on, of which the first rows may repeat the last
  // ones; nullptr: from its begin.
  size_t table() const { return source_; }
  const ScanCursor::Key* key() const { return place_.key(); }
  const std::vector<std::string>& order_columns() const {
    return order_columns_;
  }
  // True if `rows` is to be the number of rows in the scan.
  bool needs_count() const { return !is_counted_; }
  // Its scan has begun. Errors are those of TableMapper.
  absl::Status OnTable(const pgoutput::RelationSchema& schema,
                       std::vector<std::string> order_columns,
                       bool may_hold_any_bytes, uint64_t rows);
  // The row is valid until the next kRead. `now`: in place of its commit.
  void OnRow(const pgoutput::TupleData& row, RowOrigin origin, WallTime now);
  void OnTableEnd();

  // The ledger as the commit must write it.
  std::string ledger() const { return EncodeSnapshotProgress(committing_); }
  // After an error the sink has failed: whether the rows are committed is not
  // known, and the ledger tells.
  void OnCommitted(const absl::Status& status);

  // After the last report of a sink that has failed: true if the brokers have
  // rejected a record of it, or a batch, so that the next round, after
  // OnSinkReplaced, finds the row and does what on_error says.
  bool has_rejected_rows() const;
  // After the last report of a sink. The next one begins behind what it has
  // acknowledged.
  void OnSinkReplaced();

  // Ok: every row is done. kCancelled: Stop was called. kFailedPrecondition:
  // the origin of a wanted row is not known; names the remedy.
  const absl::Status& status() const { return status_; }
  // The row that has ended the round.
  const std::optional<BlockedEvent>& stoppage() const { return blocked_event_; }
  // After the end: what the sender has set aside is not published.
  Counts counts() const;

  // Rows to leave out from now on, as if they were done.
  void SetLeftOut(EventSet rows) { left_out_ = std::move(rows); }
  // Rows on record, as of now, which are also left out.
  void SetOnRecord(EventsOnRecord events) {
    options_.on_record = std::move(events);
  }

  // Rows that are done: in Kafka, or not wanted; likewise with those on their
  // way; and their total in the tables opened so far.
  uint64_t done() const { return progress_.rows_done + place_.done(); }
  uint64_t handled() const { return done() + place_.pending(); }
  uint64_t all() const { return all_; }

 private:
  enum class Phase {
    kBetweenTables,
    kOpening,
    kReading,
    kPaused,
    kSettling,    // waits for acknowledgements
    kCommitting,  // committing_
    kEnded,
  };
  // The step that follows when the rows so far are settled.
  enum class Then { kRead, kPause, kNextTable, kEnd };

  std::optional<Do> Step(MonotonicTime now, bool may_send);
  std::optional<Do> FindTable();
  std::optional<Do> Read(MonotonicTime now, bool may_send);
  std::optional<Do> Offer(MonotonicTime now);
  std::optional<Do> Settle();
  void BeginSettling(Then then);
  void OnSettled();
  void OnNotSettled(const absl::Status& reason);
  void MakeLedger();
  void End(absl::Status status);
  void Abandon(absl::Status status);
  bool IsMeant(const std::string& table) const;
  const std::string& name() const { return outbox_.tables[source_].name; }

  void Handled();
  bool LeavesOut(RowOrigin origin);
  absl::StatusOr<bool> IsWanted();
  bool IsSetAside(const absl::Status& reason);
  absl::Status Preview();
  absl::Status UnknownOrigin() const;
  absl::Status Undeliverable(BlockedEvent stoppage);
  absl::Status Health();
  void NoteAcknowledged();
  void ReportRow(std::string_view what) const;
  std::string event_id() const { return std::string(event_.id.value_or("")); }

  const OutboxOptions& outbox_;
  Sender& sender_;
  Options options_;
  bool is_stopped_ = false;

  MonotonicTime now_{};  // of the last Next
  Phase phase_ = Phase::kEnded;
  Then then_ = Then::kRead;
  absl::Status status_;
  std::optional<BlockedEvent> blocked_event_;

  // Without a ledger, too: the tables that are done, and their rows.
  SnapshotProgress progress_;
  bool is_loaded_ = false;
  std::optional<SnapshotProgress> recalled_;   // whose table is to be continued
  std::optional<SnapshotProgress> committed_;  // by this process
  SnapshotProgress committing_;
  ScanCursor committing_place_;
  CommitPace pace_;
  EventSet left_out_;

  size_t source_ = 0;        // the current table
  bool is_counted_ = false;  // its rows are in all_
  std::vector<std::string> order_columns_;
  std::vector<size_t> order_indexes_;
  ScanCursor place_;  // in the current table
  std::unique_ptr<TableMapper> mapper_;

  // The row that was read last; has_row_: it waits to be taken.
  bool has_row_ = false;
  Event event_;
  absl::Status mapped_;
  ScanCursor::Key key_;
  ScanCursor::Content content_ = 0;
  std::string topic_;
  bool is_refused_ = false;  // refused_row_

  // The record that was taken last.
  Position last_position_;
  std::string last_id_;
  ScanCursor::Content last_content_ = 0;
  // A row that the brokers rejected, to be set aside when it is read again.
  std::optional<std::pair<ScanCursor::Content, absl::Status>> refused_row_;

  Counts counts_;
  uint64_t all_ = 0;
  uint64_t ordinal_ = 0;
  RateLimit rate_;
};

}  // namespace walpost
