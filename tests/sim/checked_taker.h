// CheckedTaker: tells the checker which boundaries a stream hands in, and which
// rows of the table `orders`, which it takes itself.
#pragma once

#include "delivery/event_taker.h"
#include "sim/checker.h"

namespace walpost::sim {

class CheckedTaker final : public EventTaker {
 public:
  // `has_orders`: the configuration has that table; it is the second one.
  CheckedTaker(EventTaker& taker, Checker& checker, int relay, bool has_orders)
      : taker_(taker),
        checker_(checker),
        relay_(relay),
        has_orders_(has_orders) {}

  bool CanTake() const override { return taker_.CanTake(); }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override {
    return IsOrder(event) ? TakeOrder(event) : taker_.OnEvent(event, mapped);
  }
  bool OnPassedOver(const OtherRelation& relation) override {
    return taker_.OnPassedOver(relation);
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
  bool IsOrder(const Event& event) const {
    return has_orders_ && event.source == 1;
  }
  Offer TakeOrder(const Event& event) {
    checker_.OnOrder(relay_, event.position.commit_lsn);
    return Offer::kTaken;
  }

  EventTaker& taker_;
  Checker& checker_;
  int relay_;
  bool has_orders_;
};

}  // namespace walpost::sim
