#include "app/checkpoint/checkpoint_stores.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "app/checkpoint/checkpoint_file.h"
#include "checkpoint/checkpoint_store.h"
#include "kafka/checkpoint/checkpoint_topic.h"
#include "kafka/checkpoint/transactional_checkpoint.h"
#include "loop/blocking_call.h"
#include "postgres/checkpoint/checkpoint_table.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// ThreadedCheckpointStore: runs a checkpoint store whose calls block, such as a
// file, on threads of their own.
//
// The store is shared with the thread that runs one of its calls; by the
// contract of CheckpointStore there is at most one call.
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

template <typename Result>
asio::awaitable<void> Finish(std::unique_ptr<BlockingCall<Result>> call,
                             std::function<void(Result)> done,
                             std::weak_ptr<const bool> lifetime) {
  std::optional<Result> result = co_await call->Wait(MonotonicTime::max());
  if (!lifetime.expired()) done(*std::move(result));
}

ThreadedCheckpointStore::ThreadedCheckpointStore(
    asio::any_io_executor executor, std::shared_ptr<CheckpointStore> store)
    : executor_(std::move(executor)), store_(std::move(store)) {}

template <typename Result>
void ThreadedCheckpointStore::Run(std::function<Result()> call,
                                  std::function<void(Result)> done) {
  auto started = BlockingCall<Result>::Start(executor_, std::move(call));
  if (!started.ok())
    return done(absl::UnavailableError(started.status().message()));
  asio::co_spawn(
      executor_,
      Finish<Result>(*std::move(started), std::move(done), lifetime_),
      asio::detached);
}

void ThreadedCheckpointStore::Load(Loaded done) {
  RunLoad(&CheckpointStore::Load, std::move(done));
}

void ThreadedCheckpointStore::LoadUnlocked(Loaded done) {
  RunLoad(&CheckpointStore::LoadUnlocked, std::move(done));
}

void ThreadedCheckpointStore::RunLoad(Loading load, Loaded done) {
  using Result = absl::StatusOr<std::optional<Checkpoint>>;
  Run<Result>(
      [store = store_, load] {
        Result loaded = absl::InternalError("no call back");
        (*store.*
         load)([&loaded](Result result) { loaded = std::move(result); });
        return loaded;
      },
      std::move(done));
}

void ThreadedCheckpointStore::Save(const Checkpoint& checkpoint, Saved done) {
  Run<absl::Status>(
      [store = store_, checkpoint] {
        absl::Status saved = absl::InternalError("no call back");
        store->Save(checkpoint, [&saved](absl::Status status) {
          saved = std::move(status);
        });
        return saved;
      },
      std::move(done));
}

std::unique_ptr<CheckpointStore> MakeTopicStore(
    asio::any_io_executor executor, const Config& config,
    CheckpointStore::Access access) {
  const std::string& topic = config.checkpoint.topic;
  const std::string& slot = config.postgres.slot;
  auto store = std::make_unique<CheckpointTopic>(executor, config.kafka, topic,
                                                 slot, access);
  if (!config.transactions.is_on) return store;
  return std::make_unique<TransactionalCheckpoint>(std::move(store), topic,
                                                   slot);
}

}  // namespace

std::unique_ptr<CheckpointStore> MakeCheckpointStore(
    asio::any_io_executor executor, const Config& config,
    CheckpointStore::Access access) {
  const CheckpointOptions& options = config.checkpoint;
  switch (options.store) {
    case CheckpointOptions::Store::kNone:
      return nullptr;
    case CheckpointOptions::Store::kFile:
      return std::make_unique<ThreadedCheckpointStore>(
          executor, std::make_shared<CheckpointFile>(options.path));
    case CheckpointOptions::Store::kKafka:
      return MakeTopicStore(executor, config, access);
    case CheckpointOptions::Store::kPostgres:
      return std::make_unique<CheckpointTable>(executor, config.postgres.server,
                                               config.postgres.slot,
                                               options.table);
  }
  return nullptr;
}

}  // namespace walpost
