// MonitorSession: an ordinary SQL session beside the replication stream.
//
// Jobs that the stream cannot do while it is not read:
//
//  - notice a fast shutdown of the server. It terminates ordinary sessions at
//    once and then waits for every walsender to be confirmed, without limit. A
//    lost session whose reconnect is answered with 57P03 means: stop.
//  - report the slot: WAL written, WAL retained for us, wal_status; whether the
//    publication still covers the outbox; up to where all transactions have
//    ended; the position of the guard slot; during slot creation, what it waits
//    for; and, while there is no stream, the facts that would show a gap,
//    because the stream may have to wait for Kafka before it looks;
//  - put on record whose rows are passed over, before their LSN is confirmed;
//  - warn of a partition that had rows when it was attached, and of rows that
//    are changed by UPDATE after they were inserted.
//
// It holds no transaction open, so it pins no xmin. Its failure does not affect
// the stream; it reconnects with backoff.
//
// Owned by the Relay, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/lsn.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/continuity.h"
#include "checkpoint/event_decision.h"
#include "checkpoint/passed_over_rows.h"
#include "checkpoint/pause_record.h"
#include "checkpoint/xmin_horizon.h"
#include "health/published_sample.h"
#include "health/update_detector.h"
#include "health/wal_budget.h"
#include "postgres/catalog/partition_monitor.h"
#include "postgres/catalog/publication_monitor.h"
#include "postgres/connect/connection.h"

namespace walpost {

// State of the guard slot, if there is one (guard_slot.h).
struct GuardReport {
  Lsn confirmed;
  RetainedWal wal;
  bool is_lost = false;
};

// State of our slot at the server.
struct SlotReport {
  Lsn server_wal_end;
  uint32_t timeline = 0;
  bool has_slot = false;
  // Unset if there is no slot.
  RetainedWal wal;
  std::string wal_status;
  Lsn confirmed;  // at the server
  std::optional<GuardReport> guard;
  HorizonSample horizon;
  // State of the source for a new stream; only while WatchSource is on, and
  // nobody has the slot.
  struct Source {
    ObservedSource observed;
    std::optional<BirthRecord> record;
    // The table of parked events that is on record is missing.
    std::optional<Gap> parking;
  };
  std::optional<Source> source;
  // From PublicationMonitor, which looks last; may be empty.
  std::string publication_trouble;
  bool publication_is_wrong = false;      // PublicationMonitor::is_error
  std::vector<std::string> new_tables;    // likewise
  std::string new_table_trouble;          // likewise; may be empty
  std::optional<Gap> gap;                 // likewise
  bool has_other_columns = false;         // likewise
  std::vector<UpdatedRows> updated_rows;  // since the session was made
  // Recorded decisions; only while WatchDecisions is on.
  std::vector<EventDecision> decisions;
  // The recorded pause; nullopt: none.
  std::optional<PauseRecord> pause;
};

class MonitorSession {
 public:
  static constexpr std::chrono::seconds kReportInterval{2};

  // The routes outlive this object. `parking_table`: parking.table.
  MonitorSession(boost::asio::any_io_executor executor,
                 const WalSourceOptions& options, const OutboxOptions& outbox,
                 const std::vector<Route>& routes, std::string parking_table,
                 std::function<void()> on_server_shutdown,
                 std::function<void(const SlotReport&)> on_report);

  // Findings of the stream's setup, for PublicationMonitor.
  void SetReference(const Findings& findings, const std::string& coverage,
                    const BaseTypes& types) {
    publication_.SetReference(findings);
    publication_.SetCoverage(coverage);
    publication_.SetColumns(types);
  }

  // Enables reading the recorded decisions with each report. On while an event
  // stops the flow.
  void WatchDecisions(bool watch) { watches_decisions_ = watch; }
  // Enables reading the state of the source. On while there is no stream.
  void WatchSource(bool watch) { watches_source_ = watch; }

  // Time of the last report, or of the start.
  MonotonicTime reported_at() const { return reported_at_; }
  std::string unseen_because() const;
  // Time when the last report began to look; before the first report, the
  // start.
  MonotonicTime looked_from() const { return looked_from_; }

  // Puts on record, with the next report, that the flow has obeyed a decision.
  void NoteObeyed(EventDecision decision) {
    obeyed_.push_back(std::move(decision));
  }

  // Puts on record, once, that dead letters go to this dead_letter.topic.
  void NoteLetterTopic(std::string topic) { letter_topic_ = std::move(topic); }

  // Writes `rows` to the birth record whenever they are due. It outlives this
  // object.
  void KeepOnRecord(PassedOverRows& rows) { passed_over_ = &rows; }
  // The rows that were passed over are due to be recorded now.
  void RecordPassedOver();

  // Compares events that were published with their rows. It outlives this
  // object.
  void CompareWithRows(PublishedSample& sample) { sample_ = &sample; }

  // Makes it look what this session of the server waits for (session_wait.h);
  // 0: none.
  void WatchSession(int pid) { watched_pid_ = pid; }
  const std::string& session_wait() const { return session_wait_; }

  // Describes a slot creation, by any instance, and its blockers; empty if no
  // slot is being created (slot_creation.h).
  const std::string& slot_creation() const { return slot_creation_; }

  // Runs until Stop.
  boost::asio::awaitable<void> Run();
  void Stop();

 private:
  boost::asio::awaitable<absl::Status> Serve();
  boost::asio::awaitable<absl::Status> Report();
  boost::asio::awaitable<void> RecordObeyed();
  boost::asio::awaitable<void> RecordLetters();
  boost::asio::awaitable<absl::Status> ReadSystem();
  boost::asio::awaitable<absl::Status> ReadSource(SlotReport& report,
                                                  ObservedSource observed);
  boost::asio::awaitable<std::optional<Gap>> LookAtParking(
      std::optional<BirthRecord> record);
  boost::asio::awaitable<absl::Status> LookAtCreation();
  boost::asio::awaitable<absl::Status> LookAtWait();
  boost::asio::awaitable<absl::Status> LookAtPartitions();
  boost::asio::awaitable<absl::Status> LookAtUpdates();
  boost::asio::awaitable<absl::Status> CompareRows(size_t source);
  boost::asio::awaitable<absl::Status> WritePassedOver();
  boost::asio::awaitable<absl::Status> Rest();

  boost::asio::any_io_executor executor_;
  ServerOptions server_;
  std::string slot_;
  std::string publication_name_;
  std::string parking_table_;
  std::vector<TableOptions> tables_;
  const std::vector<Route>& routes_;
  std::string system_identifier_;  // empty: this role may not read it
  bool watches_decisions_ = false;
  PassedOverRows* passed_over_ = nullptr;
  PublishedSample* sample_ = nullptr;
  std::vector<EventDecision> obeyed_;  // not on record yet
  std::string letter_topic_;           // likewise; empty: none
  bool watches_source_ = false;
  std::function<void()> on_server_shutdown_;
  std::function<void(const SlotReport&)> on_report_;
  std::string slot_creation_;
  int watched_pid_ = 0;
  std::string session_wait_;
  PublicationMonitor publication_;
  PartitionMonitor partitions_;
  UpdateDetector updates_;
  std::unique_ptr<Connection> connection_;
  boost::asio::steady_timer retry_timer_;
  Backoff backoff_;
  MonotonicTime reported_at_{};
  MonotonicTime looked_from_{};
  absl::Status trouble_;
  bool stopped_ = false;
};

}  // namespace walpost
