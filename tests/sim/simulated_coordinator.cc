#include "sim/simulated_coordinator.h"

#include <utility>

namespace walpost::sim {

void SimulatedCoordinator::Init(uint64_t producer) {
  if (!open_.empty())
    world_.Note(kNobody, "aborts a predecessor's transaction");
  open_.clear();
  producer_ = producer;
}

std::shared_ptr<SimulatedCoordinator::Commit> SimulatedCoordinator::Send(
    uint64_t producer, std::function<void()> on_published) {
  auto commit = std::make_shared<Commit>();
  commit->producer = producer;
  commit->on_published = std::move(on_published);
  commits_.push_back(commit);
  return commit;
}

void SimulatedCoordinator::Step() {
  if (commits_.empty()) return;
  const std::shared_ptr<Commit> commit = commits_.front();
  commits_.pop_front();
  if (world_.random.OneIn(20)) {
    commit->outcome = Outcome::kLost;  // with its connection
    return;
  }
  if (IsFenced(commit->producer)) {
    world_.Note(kNobody, "a commit is fenced");
    commit->outcome = Outcome::kFenced;
    return;
  }
  Publish(*commit);
  commit->outcome =
      world_.random.OneIn(20) ? Outcome::kLost : Outcome::kCommitted;
  if (commit->outcome == Outcome::kLost) {
    world_.Note(kNobody, "the outcome of a commit is not known");
  }
}

void SimulatedCoordinator::Publish(const Commit& commit) {
  world_.Note(kNobody, "{} records are committed", open_.size());
  for (const Written& record : std::exchange(open_, {})) {
    on_committed_(record);
  }
  commit.on_published();
}

void SimulatedCoordinator::TimeOut() {
  if (open_.empty()) return;
  world_.Note(kNobody, "a transaction times out");
  open_.clear();
  producer_ = 0;
}

}  // namespace walpost::sim
