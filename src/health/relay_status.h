// RelayStatus: the state of walpost at one moment.
//
// Made by the Relay on request; admin/ shows it as metrics, readiness and JSON.
// A value: it holds no references.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lsn.h"
#include "base/time.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/pause_record.h"
#include "delivery/blocked_event.h"
#include "delivery/delivery_counters.h"
#include "delivery/latency_histogram.h"
#include "delivery/named_counts.h"
#include "delivery/named_latencies.h"
#include "health/parking_report.h"
#include "health/polled_table_report.h"
#include "health/update_detector.h"
#include "outbox/skipped_changes.h"

namespace walpost {

// TransactionReport: the Kafka transactions of a relay, for metrics and status.
struct TransactionReport {
  uint64_t committed = 0;
  uint64_t given_up = 0;  // aborted, or their outcome is not known
  uint64_t fenced = 0;    // likewise, because another producer took over
  uint64_t records = 0;   // of committed transactions
  uint64_t splits = 0;    // transactions of Postgres in several of ours
  LatencyHistogram commit_time;
  std::chrono::milliseconds open_for{0};  // the present one; 0: it is empty
  // How long records have been hidden from consumers of committed records.
  std::chrono::milliseconds hidden_for{0};
};

// RetentionReport: the rows of one table that were pruned since the process
// began, and those that the last pass kept.
struct RetentionReport {
  std::string table;
  uint64_t pruned_rows = 0;  // one by one; without partitions
  uint64_t dropped_partitions = 0;
  // Old rows that the last pass kept: not sent, or without proof that they
  // were.
  uint64_t kept_rows = 0;
  // Since a pass ended without an error; nullopt: none has.
  std::optional<std::chrono::milliseconds> pass_age = {};
};

enum class RelayState {
  kStarting,    // not streaming yet, nothing wrong so far
  kStandby,     // another instance streams; takes over when it stops
  kStreaming,   // committed events are sent
  kCatchingUp,  // streaming, but seconds behind
  kDegraded,    // streaming, but some keys wait for an operator
  kAtRisk,      // streaming, but the server keeps so much WAL for us that the
                // slot may soon be lost, or the disk full
  kPaused,      // nothing is sent until an operator resumes it
  kStuck,       // nothing is sent until somebody or something changes
  kDraining,    // was asked to stop
};

// "starting", "standby", "streaming", "catching up", "degraded",
// "at risk", "paused", "stuck", "draining".
std::string_view ToString(RelayState state);

// True if an instance in this state is doing its job.
bool IsReady(RelayState state);

struct RelayStatus {
  RelayState state = RelayState::kStarting;
  // Cause of waiting, and what to do; empty while streaming.
  std::string reason;
  std::chrono::seconds in_state_for{0};
  std::string reason_code;               // of the reason, if it has one
  std::vector<std::string_view> causes;  // Diagnosis::causes
  std::optional<BlockedEvent> stoppage;  // the event that stops the flow

  std::optional<PauseRecord> pause;  // on record; nullopt: not paused

  std::string slot;
  std::string system_identifier;
  uint32_t timeline = 0;
  uint64_t numbering = 0;  // that ordinals count in (outbox/numbering.h)
  int server_version = 0;  // such as 170002

  Lsn slot_birth;  // the slot sends what was committed from there on

  // The server's last report, over the stream or beside it.
  Lsn server_wal_end;
  Lsn received;   // everything before it has been handed to the producer
  Lsn confirmed;  // confirmed to Postgres: all before it is durable, and stored
  Position acknowledged;  // the newest event up to which all are acknowledged
  std::optional<uint64_t> retained_wal_bytes;  // kept by the server for us
  std::optional<std::string> wal_status;       // pg_replication_slots
  // The stream is open, and the publication sends the rows of all tables.
  bool is_streaming = false;
  bool has_gap = false;  // that waits for an operator
  // Since the last look at slot and publication began; nullopt: there was none.
  std::optional<std::chrono::milliseconds> look_age;
  // Since slot, publication and decisions were last seen.
  std::optional<std::chrono::milliseconds> slot_report_age;
  std::optional<Lsn> guard_lsn;   // oldest LSN of a replay; nullopt: no guard
                                  // slot
  uint64_t wal_budget_bytes = 0;  // WalBudget; 0: not known yet
  std::optional<std::chrono::seconds> wal_budget_time_left;

  // ReadLag.
  std::optional<std::chrono::microseconds> lag;
  // Every event that was committed longer ago than this is in Kafka, or set
  // aside; nullopt: not known.
  std::optional<std::chrono::microseconds> oldest_unpublished;

  size_t brokers_connected = 0;
  std::optional<std::chrono::milliseconds> brokers_heard_age;

  std::optional<std::string> checkpoint_store;  // nullopt: none
  Checkpoint checkpoint;                        // as last stored
  Lsn restart_lsn;  // where a restart would read from

  uint64_t dropped_log_lines = 0;  // because stderr was not read

  std::vector<PolledTableReport> polled_tables;  // empty: the WAL is read

  std::vector<RetentionReport> retention;  // empty: `run` does not prune

  ParkingReport parking;

  uint64_t in_flight_records = 0;
  uint64_t in_flight_bytes = 0;
  uint64_t max_in_flight_records = 0;
  uint64_t max_in_flight_bytes = 0;
  // Age of the oldest record in flight, since its commit.
  std::chrono::microseconds oldest_in_flight{0};
  uint64_t topics = 0;  // of the present producer
  uint64_t max_topics = 0;

  DeliveryCounters counters;
  NamedCounts records_by_table;  // handed to the producer
  NamedCounts records_by_topic;  // acknowledged
  // From commit to acknowledgement.
  LatencyHistogram latency;
  NamedLatencies latency_by_table;
  NamedLatencies latency_by_topic;
  // With delivery.guarantee: exactly_once.
  std::optional<TransactionReport> transactions;
  uint64_t reconnects = 0;  // to Postgres, after the first connect
  SkippedChanges skipped;
  std::vector<UpdatedRows> updated_rows;  // since the start

  bool is_polling() const { return !polled_tables.empty(); }

  // True if this instance has the stream, or had it last: another one moves the
  // slot while this one is a standby.
  bool has_stream() const {
    return state != RelayState::kStandby && confirmed.is_valid();
  }

  // Bytes of WAL that can be replayed; nullopt: not known.
  std::optional<uint64_t> replay_window_bytes() const {
    if (!guard_lsn || !has_stream()) return std::nullopt;
    return BytesBetween(*guard_lsn, confirmed);
  }

  // Bytes of WAL between the server's end of WAL and the confirmed LSN;
  // nullopt: only the streaming instance knows.
  std::optional<uint64_t> lag_bytes() const {
    if (!has_stream()) return std::nullopt;
    return BytesBetween(confirmed, server_wal_end);
  }
};

}  // namespace walpost
