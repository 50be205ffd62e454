// SimulatedStore: a process's access to the place of the checkpoints, which
// outlives it, as a topic or a file does.
//
// A save takes its time, may fail, and may have been made all the same; so may
// one whose process was killed. In transactions (SimulatedCoordinator), a save
// is a commit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "checkpoint/checkpoint_store.h"
#include "sim/world.h"

namespace walpost::sim {

struct CheckpointPlace {
  bool is_used = false;  // else there is no store
  std::optional<Checkpoint> stored;
};

// The transactions of a producer.
class Committer {
 public:
  using Done = std::function<void(absl::Status)>;

  virtual ~Committer() = default;
  // `on_published`: once the transaction is visible.
  virtual void Commit(std::function<void()> on_published, Done done) = 0;
  virtual bool is_open() const = 0;
};

class SimulatedStore final : public CheckpointStore {
 public:
  SimulatedStore(World& world, CheckpointPlace& place)
      : world_(world), place_(place) {}
  ~SimulatedStore() override {
    if (pending_ && world_.random.OneIn(2)) Write().IgnoreError();
  }
  SimulatedStore(const SimulatedStore&) = delete;
  SimulatedStore& operator=(const SimulatedStore&) = delete;

  // The answer to a save arrives.
  void Step() {
    if (!pending_ || world_.random.OneIn(2)) return;
    const bool is_lost = world_.random.OneIn(10);
    absl::Status status = absl::UnavailableError("no answer");
    if (!is_lost || world_.random.OneIn(2)) {
      const absl::Status written = Write();
      if (!is_lost) status = written;
    }
    pending_.reset();
    std::exchange(done_, {})(status);
  }

  void Load(Loaded done) override {
    if (world_.random.OneIn(10)) {
      return done(absl::UnavailableError("the store is away"));
    }
    done(place_.stored);
  }
  // What the stream produces to; nullptr: there is no stream.
  void SetCommitter(Committer* committer) { committer_ = committer; }

  bool is_ready() const override {
    return committer_ == nullptr || committer_->is_open();
  }
  void Save(const Checkpoint& checkpoint, Saved done) override {
    if (committer_ != nullptr) {
      return committer_->Commit(
          [place = &place_, checkpoint] { place->stored = checkpoint; }, done);
    }
    pending_ = checkpoint;
    done_ = std::move(done);
  }
  std::string Name() const override { return "simulated"; }

 private:
  absl::Status Write() {
    if (place_.stored && IsLater(*place_.stored, *pending_)) {
      return absl::AbortedError("another instance has written a later one");
    }
    place_.stored = *pending_;
    return absl::OkStatus();
  }

  World& world_;
  CheckpointPlace& place_;
  Committer* committer_ = nullptr;
  std::optional<Checkpoint> pending_;
  Saved done_;
};

}  // namespace walpost::sim
