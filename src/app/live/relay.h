// Relay: moves events from Postgres to Kafka, until a clean stop.
//
//   WalSource ──▶ WalProgress ──▶ Sender ──▶ Producer
//       ▲            │ confirmed()
//       └── CheckpointWriter, which stores it first
//
// It owns the three, carries out what the RelaySession decides, and knows why
// no event is published. Everything runs on the given io_context, so nothing
// here is locked.
//
//   Relay relay(io.get_executor(), config);
//   co_spawn(io, relay.Run(), ...);   // returns the exit status
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "app/backfill/initial_snapshot.h"
#include "app/checkpoint/checkpoint_service.h"
#include "app/live/table_expansion.h"
#include "app/process/progress_log.h"
#include "app/process/state_log.h"
#include "app/sink/sink_handle.h"
#include "app/stored/parked_event_service.h"
#include "checkpoint/continuity_state.h"
#include "checkpoint/observed_gap.h"
#include "checkpoint/passed_over_rows.h"
#include "checkpoint/pause_gate.h"
#include "config/config.h"
#include "delivery/gap.h"
#include "delivery/record_sink.h"
#include "delivery/sink_knowledge.h"
#include "delivery/transaction_batcher.h"
#include "delivery/wal_progress.h"
#include "health/oldest_unpublished.h"
#include "health/oldest_wait.h"
#include "health/read_lag.h"
#include "health/relay_status.h"
#include "health/wal_budget.h"
#include "log/repeated_line.h"
#include "postgres/stream/monitor_session.h"
#include "postgres/stream/replay_window_service.h"
#include "postgres/stream/wal_source.h"
#include "session/gated_consumer.h"
#include "session/relay_session.h"
#include "session/wal_stream.h"

namespace walpost {

class Relay {
 public:
  // Publishes the tables of `config` with the outbox of `before`.
  // kInvalidArgument: a topic template or a property of Kafka is wrong.
  static absl::StatusOr<std::unique_ptr<Relay>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      const TableExpansion& before);

  // Runs until Shutdown or a new table (kOk), or until it cannot continue as
  // configured (kFailedPrecondition, kInvalidArgument) before it ever streamed.
  // After such a later error it stays up, stuck, and reports why.
  boost::asio::awaitable<absl::Status> Run();

  // Stops reading, lets the brokers acknowledge the records in flight, confirms
  // them, and stops. Takes at most Config::shutdown_timeout.
  void Shutdown();

  // After Run: the tables of the relay that must follow; nullptr: none follows.
  const TableExpansion* next() const { return next_ ? &*next_ : nullptr; }

  // Kafka's credentials may have changed: if so, replaces the producer by one
  // with the new credentials.
  void RenewCredentials();

  RelayStatus Status() const;

 private:
  Relay(boost::asio::any_io_executor executor, const Config& config,
        const TableExpansion& before, std::unique_ptr<RecordBuilder> builder);

  using Action = RelaySession::Action;

  boost::asio::awaitable<absl::Status> CarryOut(Action action);
  absl::Status StartSink();
  boost::asio::awaitable<absl::Status> Prepare();
  boost::asio::awaitable<absl::Status> FindTables();
  void TakeUp(const std::vector<std::string>& tables);
  void MakeWayFor(TableExpansion next);
  void EndInOrder();
  boost::asio::awaitable<absl::Status> Open();
  boost::asio::awaitable<absl::Status> TakeOver();
  boost::asio::awaitable<absl::Status> Fence();
  void WarnOfRepeats() const;
  boost::asio::awaitable<void> WaitForCluster();
  boost::asio::awaitable<absl::Status> Stream();
  boost::asio::awaitable<void> WaitUntil(MonotonicTime until);
  void LogAction(const Action& action);
  void ExpectKafka();
  CheckpointScope DescribeSession();
  ParkedEventService::Callbacks ParkingCallbacks();
  bool MayRelease() const;

  boost::asio::awaitable<void> Watch();
  void CheckKafka();
  // A gap if Kafka is not the cluster that has the events so far.
  std::optional<Gap> FindKafkaGap() const;
  void SaveCheckpointIfDue();
  void OnCheckpoint();
  void AwaitCommit();
  void NoteTransaction();
  void NoteTransactionGivenUp(const absl::Status& reason);
  TransactionBatcher* batcher() { return batcher_ ? &*batcher_ : nullptr; }
  void StopBeside();
  void OnDrained();
  void OnServerShutdown();
  void OnSlotReport(const SlotReport& report);
  void ApplyPause(const std::optional<PauseRecord>& record);
  void ApplyDecision(const std::vector<EventDecision>& decisions);
  EventPlace PlaceOf(const Position& position) const;
  void LeaveOldPrimary(uint32_t timeline);
  void NoteRetainedWal(const SlotReport& report);
  void NoteAcknowledgements();
  void NoteReading();
  Lsn server_wal_end() const;
  void AddLag(RelayStatus& status) const;
  RelaySigns Signs() const;
  std::string Awaited() const;

  boost::asio::any_io_executor executor_;
  const TableExpansion before_;
  Config config_;
  const Config present_;      // without tables that are only in the WAL
  const uint64_t numbering_;  // of events (outbox/numbering.h)
  Sender sender_;
  WalProgress progress_{sender_};
  TransactionReport transactions_;
  // With delivery.guarantee: exactly_once.
  std::optional<TransactionBatcher> batcher_;
  PassedOverRows passed_over_;
  std::unique_ptr<SinkKnowledge> knowledge_;
  SinkHandle sinks_;
  CheckpointService checkpoints_;
  ContinuityState continuity_;
  PublishedSample published_sample_;
  PauseGate pause_gate_;
  GatedConsumer consumer_;
  WalStream stream_;
  RelaySession session_;
  WalSource source_;
  MonitorSession monitor_session_;
  ReplayWindowService replay_window_service_;
  InitialSnapshot snapshot_;
  ParkedEventService parking_;
  boost::asio::steady_timer retry_timer_;
  boost::asio::steady_timer watch_timer_;
  boost::asio::steady_timer commit_timer_;

  bool knows_tables_ = false;  // that match outbox.patterns
  std::optional<TableExpansion> next_;
  bool looked_for_rows_ = false;  // rows older than the slot
  bool ended_ = false;

  std::optional<SlotReport> slot_report_;
  ObservedGap observed_gap_;  // of the reports
  WalBudget wal_budget_;
  WalBudget::Level wal_budget_level_ = WalBudget::Level::kFine;
  StateLog state_log_;
  RepeatedLine trouble_line_;
  bool is_repeating_ = false;  // the trouble that replaced the producer
  uint64_t acknowledged_before_ = 0;
  OldestWait oldest_wait_;
  OldestUnpublished oldest_unpublished_;
  ReadLag read_lag_;
  MonotonicTime brokers_seen_at_;
  // While the stream is ours and nothing is read from it yet: what is waited
  // for. Empty: it is not taking over.
  std::string_view takeover_awaits_;
  bool kafka_was_reached_ = false;
  ProgressLog progress_log_;
  ReplicatedEventsLog replicated_log_;
};

}  // namespace walpost
