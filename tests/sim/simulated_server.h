// SimulatedServer: SimulatedPostgres with its walsenders, of which one at a
// time has the slot.
#pragma once

#include <memory>

#include "sim/checker.h"
#include "sim/simulated_postgres.h"
#include "sim/simulated_walsender.h"
#include "sim/world.h"

namespace walpost::sim {

// The message of its SQLSTATE, 55006.
inline constexpr char kSlotInUse[] = "the slot is in use";

class SimulatedServer {
 public:
  SimulatedServer(World& world, SimulatedPostgres& postgres, Checker& checker)
      : world_(world), postgres_(postgres), checker_(checker) {}

  SimulatedPostgres& postgres() { return postgres_; }

  // START_REPLICATION; nullptr when the slot is in use (55006).
  std::shared_ptr<SimulatedWalsender> Connect(Lsn requested) {
    if (active_ != nullptr) return nullptr;
    active_ =
        std::make_shared<SimulatedWalsender>(world_, postgres_, requested);
    return active_;
  }

  // The walsender that has the slot makes a step.
  void Send() {
    if (active_ == nullptr) return;
    active_->Send();
    ForgetEnded();
  }
  void Receive() {
    if (active_ == nullptr) return;
    active_->Receive();
    checker_.OnSlotConfirmed();
    ForgetEnded();
  }

  // The slot's connection is cut, or heals.
  void CutOff(bool cut) {
    if (active_ != nullptr) active_->CutOff(cut);
  }

  // The walsender is ended, the server is not.
  void Disconnect() {
    if (active_ == nullptr) return;
    world_.Note(kNobody, "the walsender is terminated");
    EndAll();
  }

  void Crash() {
    world_.Note(kNobody, "Postgres crashes");
    EndAll();
    postgres_.Crash();
    checker_.OnServerLost();
  }
  // The server goes back to a snapshot of its volume; false: there is none.
  bool Restore() {
    if (!postgres_.RestoreSnapshot()) return false;
    world_.Note(kNobody, "a snapshot of the server is restored");
    EndAll();
    checker_.OnServerLost();
    checker_.OnGapsEnded();  // for the record of before is back
    return true;
  }
  void Promote() {
    world_.Note(kNobody, "the standby is promoted");
    EndAll();
    postgres_.Promote();
    checker_.OnServerLost();
  }

  const SimulatedWalsender* active() const { return active_.get(); }

 private:
  void ForgetEnded() {
    if (active_->has_ended()) active_.reset();
  }
  void EndAll() {
    if (active_ != nullptr) active_->Terminate();
    active_.reset();
  }

  World& world_;
  SimulatedPostgres& postgres_;
  Checker& checker_;
  std::shared_ptr<SimulatedWalsender> active_;
};

}  // namespace walpost::sim
