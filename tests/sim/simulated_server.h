// SimulatedServer: SimulatedPostgres with its walsenders; one at a time has the
// slot.
#pragma once

#include <memory>

#include "sim/checker.h"
#include "sim/simulated_postgres.h"
#include "sim/simulated_walsender.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedServer {
 public:
  SimulatedServer(World& world, SimulatedPostgres& postgres, Checker& checker)
      : world_(world), postgres_(postgres), checker_(checker) {}

  SimulatedPostgres& postgres() { return postgres_; }

  // START_REPLICATION; nullptr: the slot is in use (55006).
  std::shared_ptr<SimulatedWalsender> Connect(Lsn requested) {
    if (active_ != nullptr) return nullptr;
    active_ = std::make_shared<SimulatedWalsender>(world_, postgres_, postgres_,
                                                   requested);
    return active_;
  }

  // The walsender with the slot takes a step.
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

  // Terminates the walsender, not the server.
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
  // Restores a snapshot of the server's volume; false: there is none.
  bool Restore() {
    if (!postgres_.RestoreSnapshot()) return false;
    world_.Note(kNobody, "a snapshot of the server is restored");
    EndAll();
    checker_.OnServerLost();
    checker_.OnGapsEnded();  // the old record is back
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
