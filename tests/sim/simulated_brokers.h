// SimulatedBrokers: the partitions, and requests on their way to them.
//
// A channel carries the requests of one producer to one partition; the brokers
// take them in order. When the producer is given up, requests on their way may
// still be written, late, or be lost.
#pragma once

#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "delivery/acknowledgement_window.h"
#include "sim/delivery_checker.h"
#include "sim/simulated_coordinator.h"
#include "sim/simulated_postgres.h"
#include "sim/world.h"

namespace walpost::sim {

struct Request {
  Sequence sequence;
  uint64_t event;  // its id
  bool is_dead_letter = false;
  bool is_released = false;  // it was parked, and is not too large any more
};

struct Channel {
  enum class Answer { kWritten, kRefused, kTooLarge, kNotWritten };

  int relay;
  uint64_t producer;
  size_t partition;
  SimulatedCoordinator* coordinator = nullptr;  // of its transactions
  std::deque<Request> requests;
  std::deque<std::pair<Request, Answer>> answers;
  // Each request by itself: others are written, in any order, although one is
  // not.
  bool takes_singly = false;
  bool is_refused = false;    // nothing more is written
  bool is_abandoned = false;  // nobody waits for answers
};

class SimulatedBrokers {
 public:
  struct Options {
    // Requests of a producer that was given up can still arrive.
    bool late_arrivals = true;
    // They acknowledge records one by one, as a queue does.
    bool take_singly = false;
  };

  // What a sender of stored events keeps at the brokers.
  struct StoredSender {
    SimulatedCoordinator coordinator;
    std::string ledger = {};
  };
  enum StoredSenderName { kReleased, kRetried, kToTopics };

  SimulatedBrokers(World& world, const Options& options,
                   DeliveryChecker& checker)
      : world_(world),
        options_(options),
        checker_(checker),
        coordinator_(NewCoordinator()) {
    while (stored_senders_.size() < kToTopics + std::size(kTopics)) {
      stored_senders_.push_back({NewCoordinator()});
    }
  }

  bool take_singly() const { return options_.take_singly; }
  SimulatedCoordinator& coordinator() { return coordinator_; }
  // `name`: kToTopics + i is that of kTopics[i].
  StoredSender& stored_sender(size_t name) { return stored_senders_[name]; }

  // Shared: either end may be given up first.
  std::shared_ptr<Channel> Open(int relay, uint64_t producer, size_t partition);

  // A number for another producer.
  uint64_t NextProducer() { return ++producers_; }

  // Number of the event to reject.
  void Refuse(uint64_t number) { refused_ = number; }
  // Some events are too large for their topic.
  void HaveLimit() { has_limit_ = true; }
  static bool IsTooLarge(uint64_t id) { return id % 31 == 17; }

  // The frail topic takes no records, or takes them again.
  void SetTopicDown(bool is_down) { topic_is_down_ = is_down; }
  bool topic_is_down() const { return topic_is_down_; }

  // Transactions that were open for too long are aborted.
  void TimeOutTransactions();

  // A random channel takes a step: its next request is written.
  void WriteOne();

  // True if no request is on its way any more, and no transaction is open.
  bool IsIdle() const;

 private:
  static constexpr uint64_t kMaxBatch = 3;

  SimulatedCoordinator NewCoordinator();
  bool RejectBatch(Channel& channel);
  void Write(Channel& channel);
  void WriteSingly(Channel& channel);
  void Prune();

  World& world_;
  Options options_;
  DeliveryChecker& checker_;
  SimulatedCoordinator coordinator_;
  std::deque<StoredSender> stored_senders_;
  std::vector<std::shared_ptr<Channel>> channels_;
  uint64_t refused_ = UINT64_MAX;
  bool has_limit_ = false;
  bool topic_is_down_ = false;
  uint64_t producers_ = 0;
};

}  // namespace walpost::sim
