// ThreadedCheckpointStore: runs a checkpoint store whose calls block, such as a
// file, on threads of their own.
//
// The store is shared with the thread that runs one of its calls; by the
// contract of CheckpointStore there is at most one call.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "checkpoint/checkpoint_store.h"

namespace walpost {

class ThreadedCheckpointStore final : public CheckpointStore {
 public:
  // `store` must call back from within its calls.
  ThreadedCheckpointStore(boost::asio::any_io_executor executor,
                          std::shared_ptr<CheckpointStore> store);

  void Load(Loaded done) override;
  void LoadUnlocked(Loaded done) override;
  void Save(const Checkpoint& checkpoint, Saved done) override;
  void Release() override { store_->Release(); }
  std::string Name() const override { return store_->Name(); }
  std::string HowToRemove(const Checkpoint& checkpoint) const override {
    return store_->HowToRemove(checkpoint);
  }

 private:
  using Loading = void (CheckpointStore::*)(Loaded done);
  void RunLoad(Loading load, Loaded done);
  // Runs `call` on a thread, then passes its result to `done` on the loop,
  // unless this object was destroyed meanwhile.
  template <typename Result>
  void Run(std::function<Result()> call, std::function<void(Result)> done);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<CheckpointStore> store_;
  // Shared only to be watched: expires with this object.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace walpost
