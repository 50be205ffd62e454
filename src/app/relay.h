// Relay: moves events from Postgres to Kafka, until a clean stop.
//
//   WalSource ──▶ Pipeline ──▶ Producer
//       ▲            │ confirmed()
//       └── CheckpointWriter, which stores it first
//
// It owns the three, decides when to connect, to start over and to stop, and
// knows why nothing moves. Everything runs on the given io_context, so nothing
// here is locked.
//
//   Relay relay(io.get_executor(), config);
//   co_spawn(io, relay.Run(), ...);   // returns the exit status
//
// Life cycle:
//
//   producer ─▶ connect ─▶ stream ─┬─ lost, server restarts: backoff, connect
//      ▲                           ├─ producer fatal: replace it, start over
//      └───────────────────────────┤   at the confirmed LSN
//                                  └─ Shutdown: drain, confirm, stop
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "app/checkpoint_keeper.h"
#include "app/initial_snapshot.h"
#include "app/progress_log.h"
#include "app/state_log.h"
#include "base/backoff.h"
#include "config/config.h"
#include "delivery/pipeline.h"
#include "health/diagnosis.h"
#include "health/oldest_wait.h"
#include "health/relay_status.h"
#include "health/wal_budget.h"
#include "kafka/producer.h"
#include "postgres/guard_keeper.h"
#include "postgres/side_session.h"
#include "postgres/wal_source.h"
#include "session/poison_watch.h"

namespace walpost {

class Relay {
 public:
  // kInvalidArgument: a topic template or a property of Kafka is wrong.
  static absl::StatusOr<std::unique_ptr<Relay>> Create(
      boost::asio::any_io_executor executor, const Config& config);

  // Runs until Shutdown (kOk), or until it cannot continue as configured
  // (kFailedPrecondition, kInvalidArgument) before it ever streamed. After such
  // a later error it stays up, stuck, and reports why.
  boost::asio::awaitable<absl::Status> Run();

  // Stops reading, lets the brokers acknowledge the records in flight, confirms
  // them, and stops. Takes at most Config::shutdown_timeout.
  void Shutdown();

  // Kafka's credentials may have changed: if so, replaces the producer by one
  // with the new credentials.
  void RenewCredentials();

  RelayStatus Status() const;

 private:
  Relay(boost::asio::any_io_executor executor, const Config& config,
        std::unique_ptr<RecordBuilder> builder);

  boost::asio::awaitable<absl::Status> Session();
  boost::asio::awaitable<void> WaitForCluster();
  void ExpectKafka();
  CheckpointKeeper::Session DescribeSession();
  void CheckKafka();
  void FindGap(const Gap& gap);
  boost::asio::awaitable<void> HoldGap(absl::Status status);
  void PokeCheckpoints();
  boost::asio::awaitable<void> GiveUpProducer(absl::Status reason);
  boost::asio::awaitable<void> WaitBeforeNextSession(absl::Status reason);
  boost::asio::awaitable<void> WaitForOperator(absl::Status poison);
  boost::asio::awaitable<void> CloseProducer(MonotonicTime deadline);
  boost::asio::awaitable<void> Watch();
  absl::Status StartProducer();

  void OnDrained();
  void OnServerShutdown();
  void OnSlotReport(const SlotReport& report);
  bool IsHopeless(const absl::Status& status) const;
  void NoteFailure(const absl::Status& status);
  void NoteAcknowledgements();
  RelaySigns Signs() const;
  std::string Awaited() const;

  boost::asio::any_io_executor executor_;
  Config config_;
  Pipeline pipeline_;
  KafkaMemory kafka_memory_;
  std::unique_ptr<Producer> producer_;
  CheckpointKeeper checkpoints_;
  WalSource source_;
  SideSession side_session_;
  GuardKeeper guard_keeper_;
  InitialSnapshot snapshot_;
  boost::asio::steady_timer retry_timer_;
  boost::asio::steady_timer watch_timer_;
  Backoff backoff_;

  bool looked_for_rows_ = false;  // rows older than the slot
  bool has_streamed_ = false;
  bool server_leaves_ = false;
  uint64_t sessions_ = 0;
  std::optional<MonotonicTime> shutdown_deadline_;
  bool ended_ = false;

  // Found beside the stream; stops it.
  std::optional<Gap> found_gap_;
  bool gap_is_new_ = false;

  // Why the last session stopped, while there is no new one.
  absl::Status trouble_;
  PoisonWatch poison_watch_;

  std::optional<SlotReport> slot_report_;
  WalBudget wal_budget_;
  WalBudget::Level wal_budget_level_ = WalBudget::Level::kFine;
  StateLog state_log_;
  uint64_t acknowledged_before_ = 0;
  OldestWait oldest_wait_;
  MonotonicTime brokers_seen_at_;
  bool kafka_was_reached_ = false;
  ProgressLog progress_log_;
};

}  // namespace walpost
