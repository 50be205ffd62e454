// RelaySigns: what a relay sees of itself and of both ends, for the diagnosis.
//
// The relay gathers them a few times a second. A value without references.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "checkpoint/pause_record.h"
#include "delivery/blocked_event.h"
#include "delivery/gap.h"
#include "delivery/sink_kind.h"
#include "health/parking_report.h"
#include "health/wal_budget.h"

namespace walpost {

struct RelaySigns {
  std::string slot;
  SinkWords sink = WordsOf(SinkKind::kKafka);
  std::string brokers;

  bool draining = false;
  // A gap that is latched, or one that was seen while there is no stream.
  std::optional<Gap> gap;
  // The operator's pause of the slot; with polling, the paused tables.
  std::optional<PauseRecord> pause;
  std::string paused_tables;
  // From the pipeline.
  Lsn confirmed;
  std::optional<BlockedEvent> stoppage;
  std::optional<absl::Status> held;
  uint64_t in_flight_records = 0;
  std::chrono::microseconds oldest_in_flight{0};  // since its commit

  // Why there is no stream; ok while there is a stream or the first is awaited.
  absl::Status trouble;
  bool slot_is_in_use = false;           // trouble is this (55006), and ...
  std::optional<std::string> slot_user;  // ... its user, if known
  std::string slot_user_trouble;    // why that user does not stream; or empty
  std::string slot_user_doubt;      // why the user is not known; or empty
  std::string slot_creation;        // what slot creation waits for
  bool cursor_is_in_use = false;    // trouble is this: another instance has it
  bool trouble_is_poison = false;   // the same error again and again
  std::string publication_trouble;  // rows are not sent; may be empty
  std::string snapshot_progress;    // while the initial snapshot is taken
  std::string awaited;              // what the start waits for; or empty
  bool has_streamed = false;
  bool is_streaming = false;

  // The slot and the publication cannot be seen beside the stream: for how
  // long, and why.
  std::chrono::milliseconds unseen_for{0};
  std::string unseen_because;

  std::chrono::milliseconds server_silent_for{0};  // since asked
  std::string unanswered_table;  // polled table that has not answered; or empty
  // Time held back by standbys that the server waits for; in its own words.
  std::chrono::milliseconds server_held_back_for{0};
  std::string server_held_back_by;
  bool brokers_were_reached = false;
  std::chrono::milliseconds brokers_unreachable_for{0};
  bool brokers_are_connected = false;  // but silent, if unreachable
  std::string broker_trouble;  // why they are unreachable, and the remedy
  bool brokers_reject_credentials = false;          // that is why
  std::chrono::milliseconds unacknowledged_for{0};  // the oldest in flight
  std::string sink_delay;     // why the sink took no record last; or empty
  std::string unknown_topic;  // unknown to the brokers; or empty
  std::string topic_refusal;  // why they would not create it; or empty

  // Name of a checkpoint store in Kafka that has been read for long; or empty.
  std::string unread_checkpoint;
  std::chrono::milliseconds checkpoint_unread_for{0};
  // How long no checkpoint could be written, and why.
  std::chrono::milliseconds checkpoint_failing_for{0};
  absl::Status checkpoint_trouble;

  // Records are sent in Kafka transactions.
  bool in_transactions = false;
  // Duration of the commit under way; zero: there is none.
  std::chrono::milliseconds committing_for{0};

  // Records that consumers of committed records do not get, for longer than a
  // transaction of ours may take; or empty.
  std::string hidden_records;
  std::chrono::milliseconds hidden_for{0};

  ParkingReport parking;

  WalBudget::Level wal_budget_level = WalBudget::Level::kFine;
  uint64_t retained_wal_bytes = 0;
  uint64_t wal_budget_bytes = 0;

  // True if another instance streams or polls.
  bool is_behind_another() const { return slot_is_in_use || cursor_is_in_use; }
};

}  // namespace walpost
