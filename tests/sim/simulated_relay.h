// SimulatedRelay: one instance of walpost, around the real Pipeline, modelled
// on src/app/relay.cc.
//
//   waiting ─▶ streaming ─┬─ lost, or in use ─▶ waiting
//      ▲                  ├─ suspended, promoted, ─┐
//      │                  │  producer failed       ▼
//      └──────────────────│────────── closing the producer ─▶ down
//                         └─ asked to stop ────────▲
#pragma once

#include <memory>
#include <optional>

#include "delivery/pipeline.h"
#include "sim/checker.h"
#include "sim/simulated_producer.h"
#include "sim/simulated_server.h"
#include "sim/simulated_source.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedRelay final : public RecordReports {
 public:
  SimulatedRelay(World& world, SimulatedServer& server,
                 SimulatedBrokers& brokers, Checker& checker, int id);

  // ---- Actions of the operator.

  void Start();
  void Kill();  // -9
  void Shutdown();
  // No turn, nothing is sent or reported until Resume.
  void Suspend();
  void Resume();

  // ---- One step of each part.

  void Turn();
  // The other loop: retries held records, notices failures.
  void Watch();
  void Send();
  void Report();

  // ---- Failures.

  void FailProducer();
  // It cannot reach the brokers for a while.
  void LoseBrokers(milliseconds duration);
  // The server asks its clients to disconnect (fast shutdown).
  void LeaveStream();

  bool is_up() const { return phase_ != Phase::kDown; }
  bool is_suspended() const { return is_suspended_; }
  // It will not continue without an operator.
  bool is_stuck() const { return is_stuck_; }
  // True if its flow has stopped before an event, with nothing in flight.
  bool HasStopped() const;

  // RecordReports: passed to the pipeline.
  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnSinkFailed(const absl::Status& error) override;

 private:
  enum class Phase { kDown, kWaiting, kStreaming, kClosing };

  bool ReachesBrokers() const {
    return !is_suspended_ && producer_ != nullptr &&
           world_.now >= brokers_back_at_;
  }
  void Open();
  void EndSession(const absl::Status& reason);
  void BeginClose(const absl::Status& reason, MonotonicTime deadline);
  void ContinueClose();
  void ReplaceProducer();
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
  uint64_t producers_ = 0;  // of all processes
  MonotonicTime brokers_back_at_;
  bool is_suspended_ = false;
  MonotonicTime suspended_at_;
  MonotonicTime::duration slept_{};  // since it was asked to stop

  // State of this process.
  Phase phase_ = Phase::kDown;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<SimulatedSource> source_;
  std::unique_ptr<SimulatedProducer> producer_;
  bool is_stuck_ = false;
  std::optional<MonotonicTime> shutdown_deadline_;
  MonotonicTime retry_at_;
  MonotonicTime close_deadline_;
  absl::Status close_reason_;
};

}  // namespace walpost::sim
