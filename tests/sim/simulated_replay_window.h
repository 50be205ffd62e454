// SimulatedReplayWindow: the guard slot, which keeps WAL for walpost replay,
// and the walsender of its temporary copy (docs/replay.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/lsn.h"
#include "checkpoint/guard_schedule.h"
#include "sim/simulated_postgres.h"
#include "sim/simulated_slot.h"
#include "sim/simulated_walsender.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedReplayWindow {
 public:
  // What a walsender is told to confirm.
  using OnTold = std::function<void(Lsn confirmed)>;

  SimulatedReplayWindow(World& world, const SimulatedPostgres& server);

  // LSN from which on the WAL is kept.
  Lsn oldest() const { return guard_; }
  // GuardSchedule decides whether the guard slot moves. True: it does.
  bool MoveGuard();
  // The last LSN that leaves the window whole.
  Lsn limit() const;

  // Copies the guard slot, and streams from `from` on. An earlier copy has no
  // walsender any more.
  std::shared_ptr<SimulatedWalsender> Connect(Lsn from, OnTold on_told);
  // The walsender takes a step.
  void Step();
  // It is terminated; its connection is cut, or heals.
  void Disconnect();
  void CutOff(bool cut);

 private:
  class Copy final : public SimulatedSlot {
   public:
    Copy(Lsn confirmed, OnTold on_told)
        : confirmed_(confirmed), on_told_(std::move(on_told)) {}
    Lsn confirmed() const override { return confirmed_; }
    void OnFeedback(Lsn confirmed) override {
      on_told_(confirmed);
      if (confirmed > confirmed_) confirmed_ = confirmed;
    }

   private:
    Lsn confirmed_;
    OnTold on_told_;
  };
  struct Stream {
    Stream(World& world, const SimulatedPostgres& server, Copy copy, Lsn from)
        : slot(std::move(copy)), walsender(world, server, slot, from) {}

    Copy slot;
    SimulatedWalsender walsender;
  };

  World& world_;
  const SimulatedPostgres& server_;
  ReplayOptions options_;
  uint64_t budget_bytes_;
  GuardSchedule schedule_;
  Lsn guard_ = SimulatedPostgres::kWalBegin;
  std::shared_ptr<SimulatedWalsender> active_;  // with its Stream
};

}  // namespace walpost::sim
