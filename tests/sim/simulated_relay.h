// SimulatedRelay: one instance of walpost, around the real Pipeline.
//
// What lies between the pipeline and the network is modelled after
// src/postgres/wal_source.cc, src/postgres/source_setup.cc and
// src/app/relay.cc, step by step, so that anything may happen between two
// steps of a turn. Kept in step with them by hand.
//
//   waiting ─▶ turn: checking ─▶ taking ─▶ telling ─┐
//      ▲          ▲                                 │
//      │          └─────────────────────────────────┘
//      └── closing the producer ◀── lost, failed, suspended, drained ──▶ down
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "delivery/pipeline.h"
#include "postgres/feedback_schedule.h"
#include "postgres/suspension_watch.h"
#include "sim/checker.h"
#include "sim/simulated_producer.h"
#include "sim/simulated_server.h"
#include "sim/world.h"
#include "support/message_feed.h"

namespace walpost::sim {

class SimulatedRelay final : public RecordReports {
 public:
  SimulatedRelay(World& world, SimulatedServer& server,
                 SimulatedBrokers& brokers, Checker& checker, int id);

  // ---- What the operator does.

  void Start();
  void Kill();  // -9
  void Shutdown();
  // No turn, nothing sent and no report until Resume.
  void Suspend();
  void Resume();

  // ---- One step of each part.

  void Turn();
  // The other loop: held records get another chance, failures are seen.
  void Watch();
  void Send();
  void Report();

  // ---- What breaks.

  void FailProducer();
  // The server asks its clients to leave (fast shutdown).
  void LeaveStream();

  bool is_up() const { return phase_ != Phase::kDown; }
  bool is_suspended() const { return is_suspended_; }
  // It will not go on without an operator.
  bool is_stuck() const { return is_stuck_; }
  bool is_streaming() const { return connection_ != nullptr; }
  SimulatedWalsender* connection() { return connection_.get(); }
  // Whether its flow has stopped before an event, with nothing in flight.
  bool HasStopped() const;
  const Pipeline& pipeline() const { return *pipeline_; }

  // RecordReports: to the pipeline.
  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnSinkFailed(const absl::Status& error) override;

 private:
  enum class Phase { kDown, kWaiting, kChecking, kTaking, kTelling, kClosing };

  void Open();
  bool FollowPromotion();
  void BeginTurn();
  void TakeFrames();
  void Handle(const SimulatedWalsender::Frame& frame);
  void Deliver();
  void EndTurn();
  void EndSession(const absl::Status& reason);
  void BeginClose(const absl::Status& reason, MonotonicTime deadline);
  void ContinueClose();
  void StartProducer();
  void WaitBeforeNextSession(const absl::Status& reason);
  void End();
  void Observe();

  World& world_;
  SimulatedServer& server_;
  SimulatedBrokers& brokers_;
  Checker& checker_;
  int id_;
  OutboxOptions options_;
  bool is_suspended_ = false;
  MonotonicTime suspended_at_;
  MonotonicTime::duration slept_{};  // since it was told to end

  // Of this process.
  Phase phase_ = Phase::kDown;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<SimulatedProducer> producer_;
  uint64_t producers_ = 0;
  uint32_t timeline_ = 0;
  uint32_t lsn_timeline_ = 0;  // that the LSNs of the pipeline belong to
  bool has_streamed_ = false;
  bool is_promoted_ = false;
  bool is_stuck_ = false;
  std::optional<MonotonicTime> shutdown_deadline_;
  MonotonicTime retry_at_;
  MonotonicTime close_deadline_;
  absl::Status close_reason_;

  // Of this connection. Shared: both ends hold it.
  std::shared_ptr<SimulatedWalsender> connection_;
  std::optional<testing::MessageFeed> feed_;
  FeedbackSchedule feedback_;
  SuspensionWatch suspension_watch_;
  bool is_held_ = false;
  bool is_abandoned_ = false;
  std::optional<MonotonicTime> drain_deadline_;
};

}  // namespace walpost::sim
