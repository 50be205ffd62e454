// SimulatedCoordinator: the transactions of one transactional id, as the
// brokers keep them.
//
//   Init(producer) ──▶ its records ──▶ Commit ──▶ visible, with the checkpoint,
//         │                                       or with the ledger
//         └── the transaction of an earlier producer is aborted, and it is
//         fenced
//
// A commit is a request on its way: it may arrive late, or get lost, and so may
// its answer. What arrives of a fenced producer changes nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/world.h"

namespace walpost::sim {

class SimulatedCoordinator {
 public:
  struct Written {
    int relay;
    uint64_t producer;
    size_t partition;
    uint64_t event;
    bool is_dead_letter;
    bool is_late;
    bool is_released;
  };
  enum class Outcome { kNone, kCommitted, kFenced, kLost };
  struct Commit {
    uint64_t producer;
    std::function<void()> on_published;  // what is in the transaction, too
    Outcome outcome = Outcome::kNone;    // as its answer says
  };

  // `on_committed`: consumers can read the record.
  SimulatedCoordinator(World& world,
                       std::function<void(const Written&)> on_committed)
      : world_(world), on_committed_(std::move(on_committed)) {}

  bool is_used = false;

  // Fences every other producer.
  void Init(uint64_t producer);
  bool IsFenced(uint64_t producer) const { return producer != producer_; }

  // A record of a producer that is not fenced, in its transaction.
  void Write(const Written& record) { open_.push_back(record); }

  // The transaction of this producer is aborted, unless it is fenced.
  void Abort(uint64_t producer) {
    if (!IsFenced(producer)) open_.clear();
  }
  // The answer is in the object. Either end may be given up first.
  std::shared_ptr<Commit> Send(uint64_t producer,
                               std::function<void()> on_published);
  // The oldest commit that is on its way arrives, or is lost.
  void Step();
  // A transaction that was open for too long is aborted.
  void TimeOut();

  bool IsIdle() const { return commits_.empty() && open_.empty(); }
  bool HasCommits() const { return !commits_.empty(); }

 private:
  void Publish(const Commit& commit);

  World& world_;
  std::function<void(const Written&)> on_committed_;
  uint64_t producer_ = 0;
  std::vector<Written> open_;
  std::deque<std::shared_ptr<Commit>> commits_;
};

}  // namespace walpost::sim
