// SimulatedRelay: one instance of walpost, and who operates it: its processes,
// one after the other.
#pragma once

#include <memory>
#include <optional>

#include "delivery/record_sink.h"
#include "sim/checker.h"
#include "sim/simulated_process.h"
#include "sim/simulated_server.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedRelay final : public RecordReports {
 public:
  SimulatedRelay(World& world, SimulatedServer& server,
                 SimulatedBrokers& brokers, Checker& checker,
                 CheckpointPlace& place, SimulatedParkedTable& parked, int id)
      : world_(world),
        server_(server),
        brokers_(brokers),
        checker_(checker),
        place_(place),
        parked_(parked),
        id_(id) {}

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
  void StepParking();

  // ---- Failures.

  void FailProducer();
  // It cannot reach the brokers for a while.
  void LoseBrokers(milliseconds duration);
  // The server asks its clients to disconnect (fast shutdown).
  void LeaveStream();

  bool is_up() const { return process_ != nullptr; }
  bool is_suspended() const { return is_suspended_; }
  // It streams, and some keys are parked, or topics isolated.
  bool HoldsLanes() const {
    return is_up() && process_->is_streaming() && process_->holds_lanes();
  }
  // It will not continue without an operator.
  bool is_stuck() const { return is_up() && process_->is_stuck(); }
  // True if its flow has stopped before an event, with nothing in flight.
  bool HasStopped() const;

  // RecordReports: passed to the sender.
  void OnAcknowledged(Sequence sequence, WallTime now) override;
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override;
  void OnSinkFailed(const absl::Status& error) override;

 private:
  bool ReachesBrokers() const {
    return !is_suspended_ && is_up() && process_->producer() != nullptr &&
           world_.now >= brokers_back_at_;
  }

  World& world_;
  SimulatedServer& server_;
  SimulatedBrokers& brokers_;
  Checker& checker_;
  CheckpointPlace& place_;
  SimulatedParkedTable& parked_;
  int id_;
  MonotonicTime brokers_back_at_;
  MonotonicTime brokers_seen_at_;
  bool is_suspended_ = false;
  MonotonicTime suspended_at_;
  MonotonicTime::duration slept_{};  // since it was asked to stop
  std::unique_ptr<SimulatedProcess> process_;
};

}  // namespace walpost::sim
