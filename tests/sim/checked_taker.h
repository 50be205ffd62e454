// CheckedTaker: tells the checker which boundaries a stream hands in, and which
// rows of the table `orders`, which it takes itself.
#pragma once

#include "delivery/event_consumer.h"
#include "sim/checker.h"

namespace walpost::sim {

class CheckedTaker final : public EventConsumer {
 public:
  // `has_orders`: the configuration has that table; it is the second one.
  CheckedTaker(EventConsumer& consumer, Checker& checker, int relay,
               bool has_orders)
      : consumer_(consumer),
        checker_(checker),
        relay_(relay),
        has_orders_(has_orders) {}

  bool CanTake() const override { return consumer_.CanTake(); }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override {
    return IsOrder(event) ? TakeOrder(event) : consumer_.OnEvent(event, mapped);
  }
  bool OnPassedOver(const OtherRelation& relation) override {
    return consumer_.OnPassedOver(relation);
  }
  void OnTransactionEnd(Lsn end_lsn) override {
    checker_.OnBoundary(relay_, end_lsn);
    consumer_.OnTransactionEnd(end_lsn);
  }
  void OnKeepalive(Lsn wal_end) override {
    checker_.OnBoundary(relay_, wal_end);
    consumer_.OnKeepalive(wal_end);
  }
  Lsn confirmable() const override { return consumer_.confirmable(); }
  bool IsDrained() const override { return consumer_.IsDrained(); }
  absl::Status Health() const override { return consumer_.Health(); }

 private:
  bool IsOrder(const Event& event) const {
    return has_orders_ && event.source == 1;
  }
  Offer TakeOrder(const Event& event) {
    checker_.OnOrder(relay_, event.position.commit_lsn);
    return Offer::kAccepted;
  }

  EventConsumer& consumer_;
  Checker& checker_;
  int relay_;
  bool has_orders_;
};

}  // namespace walpost::sim
