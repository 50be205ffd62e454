// BlockingCall: runs a blocking function on a thread of its own, and awaits it
// on the event loop.
//
// For operations that have no other form: looking up a host name, fsync,
// destroying a librdkafka client. The thread owns only its function and the
// place of the result; if the caller stops waiting, the result is discarded.
//
//   auto call = BlockingCall<int>::Start(executor, [fd] { return fsync(fd); });
//   if (!call.ok()) co_return call.status();
//   const std::optional<int> result = co_await (*call)->Wait(deadline);
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "loop/descriptors.h"
#include "loop/socket_waiter.h"

namespace walpost {

// Each blocked call occupies a thread: more than this many means that something
// hangs for good.
inline constexpr int kMaxBlockedThreads = 64;

// Runs `work` on a detached thread. `work` must not throw and must not refer to
// anything that may be destroyed before the process exits.
//
// kResourceExhausted: kMaxBlockedThreads are running, or the system has no
// thread left; `work` does not run.
absl::Status RunOnThread(std::function<void()> work);

// Threads of RunOnThread that have not finished. While there are any, the
// process must not destroy its globals: wait, then exit with _Exit.
int CountBlockedThreads();
// Waits until they finish, at most for `limit`. Blocks.
void AwaitBlockedThreads(std::chrono::milliseconds limit);

// Becomes readable once: signals from a thread to the loop.
class DoneSignal {
 public:
  DoneSignal();
  ~DoneSignal();
  DoneSignal(const DoneSignal&) = delete;
  DoneSignal& operator=(const DoneSignal&) = delete;

  // Negative: the process has no descriptor left.
  int fd() const { return fd_; }
  bool is_set() const { return is_set_.load(std::memory_order_acquire); }
  // Earlier writes of the calling thread are visible once is_set() is true.
  void Set();

 private:
  int fd_;
  std::atomic<bool> is_set_ = false;
};

template <typename T>
class BlockingCall {
 public:
  // Errors are those of RunOnThread. kUnavailable: no descriptor is left;
  // `work` does not run.
  static absl::StatusOr<std::unique_ptr<BlockingCall>> Start(
      boost::asio::any_io_executor executor, std::function<T()> work) {
    auto state = std::make_shared<State>();
    if (state->done.fd() < 0) return NoDescriptor();
    std::unique_ptr<BlockingCall> call(
        new BlockingCall(std::move(executor), state));
    const absl::Status watched = call->waiter_.Watch(state->done.fd());
    if (!watched.ok()) return watched;
    const absl::Status started = RunOnThread([state, work = std::move(work)] {
      state->result = work();
      state->done.Set();
    });
    if (!started.ok()) return started;
    return call;
  }

  // The result, once; nullopt: none at `deadline`.
  boost::asio::awaitable<std::optional<T>> Wait(MonotonicTime deadline) {
    while (!state_->done.is_set()) {
      if (std::chrono::steady_clock::now() >= deadline) co_return std::nullopt;
      co_await waiter_.Wait(SocketWaiter::Interest::kRead, deadline);
    }
    co_return std::exchange(state_->result, std::nullopt);
  }

 private:
  // Shared with the thread, which may outlive this object.
  struct State {
    std::optional<T> result;
    DoneSignal done;
  };

  BlockingCall(boost::asio::any_io_executor executor,
               std::shared_ptr<State> state)
      : state_(std::move(state)), waiter_(std::move(executor)) {}

  std::shared_ptr<State> state_;
  SocketWaiter waiter_;
};

}  // namespace walpost
