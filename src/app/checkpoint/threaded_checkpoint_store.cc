#include "app/checkpoint/threaded_checkpoint_store.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

template <typename Result>
asio::awaitable<void> Finish(std::unique_ptr<BlockingCall<Result>> call,
                             std::function<void(Result)> done,
                             std::weak_ptr<const bool> lifetime) {
  std::optional<Result> result = co_await call->Wait(MonotonicTime::max());
  if (!lifetime.expired()) done(*std::move(result));
}

}  // namespace

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

}  // namespace walpost
