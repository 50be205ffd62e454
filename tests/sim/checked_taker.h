// CheckedTaker: tells the checker which boundaries a stream hands in.
#pragma once

#include "delivery/event_taker.h"
#include "sim/checker.h"

namespace walpost::sim {

class CheckedTaker final : public EventTaker {
 public:
  CheckedTaker(EventTaker& taker, Checker& checker, int relay)
      : taker_(taker), checker_(checker), relay_(relay) {}

  bool CanTake() const override { return taker_.CanTake(); }
  Offer OnEvent(const Event& event) override { return taker_.OnEvent(event); }
  Offer OnUndeliverable(const Event& event,
                        const absl::Status& reason) override {
    return taker_.OnUndeliverable(event, reason);
  }
  void OnTransactionEnd(Lsn end_lsn) override {
    checker_.OnBoundary(relay_, end_lsn);
    taker_.OnTransactionEnd(end_lsn);
  }
  void OnKeepalive(Lsn wal_end) override {
    checker_.OnBoundary(relay_, wal_end);
    taker_.OnKeepalive(wal_end);
  }
  Lsn confirmable() const override { return taker_.confirmable(); }
  bool IsDrained() const override { return taker_.IsDrained(); }
  absl::Status Health() const override { return taker_.Health(); }

 private:
  EventTaker& taker_;
  Checker& checker_;
  int relay_;
};

}  // namespace walpost::sim
