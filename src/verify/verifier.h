// Verifier: runs `walpost verify` from beginning to end.
//
//   table  ──▶ expected ─┐
//                        ├─▶ AuditDatabase ──▶ Judge ──▶ Report
//   topics ──▶ found ────┘
//
// The table first, then the topics: rows of the table must then be in the
// topics, once the slot has confirmed that far. It blocks, on one thread, and
// shares only the configuration with the relay.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/reloadable_text.h"
#include "outbox/options.h"
#include "verify/audit_database.h"
#include "verify/published_records.h"
#include "verify/report.h"
#include "verify/table_reader.h"

namespace walpost {

struct VerifierOptions {
  ReloadableText conninfo;  // with the password
  ConfirmedBy confirmed_by;
  OutboxOptions outbox;
  std::string parking_table;  // empty: events are not parked
  std::string slot;
  std::string publication;
  ConnectToRecords connect;

  ComparedAs compared_as = ComparedAs::kBytes;
  std::string sequence_column;
  std::set<std::string> more_topics;
  // Instead of the table: a file of ids, one per line.
  std::string id_file;
  int wait_seconds = 10;  // for the slot
  std::string work_directory = "/tmp";
  bool fail_on_not_in_table = false;
  bool fail_on_duplicates = false;
  bool fail_on_without_id = true;
  // Doubts that exist before anything is read, such as a gap.
  std::vector<std::string> undecided;
};

class Verifier {
 public:
  // The current activity, and how much of the total (0: not known) is done.
  using Progress =
      std::function<void(std::string_view what, uint64_t done, uint64_t all)>;

  Verifier(VerifierOptions options, Progress progress)
      : options_(std::move(options)), progress_(std::move(progress)) {}

  // kInvalidArgument: the configuration does not fit the table. kUnavailable:
  // Postgres or the brokers are unreachable.
  absl::StatusOr<Report> Run();

  // True if an error of Run came from the brokers, not Postgres.
  bool failed_at_brokers() const { return at_brokers_; }

 private:
  absl::Status ReadTables();
  void NoteNotCompared(const TableOptions& table);
  absl::Status NoteUpdates(const std::string& table);
  absl::Status ReadTable(const TableOptions& table);
  absl::Status ReadIds();
  absl::Status ReadTopics();
  absl::Status WaitConfirmed();
  absl::Status ReadParked();
  absl::Status NoteIfSkipped(const TableOptions& table,
                             const ExpectedRecord& row);
  absl::Status JudgeEmptyTables();
  absl::Status TakeRecord(FoundRecord& record);
  absl::Status FindNewer();
  absl::Status NoteUnknownOrigins(Report& report);

  VerifierOptions options_;
  Progress progress_;
  std::unique_ptr<AuditDatabase> audit_database_;
  std::unique_ptr<TableReader> table_;
  std::set<std::string> topics_;   // topics with expected rows
  std::string unseen_topic_;       // its cleanup.policy is not known
  std::set<std::string> skipped_;  // digests (outbox/event_digest.h)
  uint64_t rows_ = 0;
  std::set<std::string> row_orders_;  // order columns of recover; "": none
  std::vector<std::string> notes_;
  std::vector<std::string> update_notes_;  // if rows differ from records
  std::vector<std::string> empty_tables_;
  uint64_t records_ = 0;
  bool all_rows_confirmed_ = true;  // when they were read
  bool at_brokers_ = false;
  std::string_view brokers_;  // as people say it
  Report::Confirmed confirmed_ = Report::Confirmed::kAll;
};

}  // namespace walpost
