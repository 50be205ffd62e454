#include "loop/blocking_call.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>
#include <thread>

namespace walpost {
namespace {

std::atomic<int> blocked_threads = 0;

}  // namespace

absl::Status RunOnThread(std::function<void()> work) {
  if (blocked_threads.fetch_add(1) >= kMaxBlockedThreads) {
    --blocked_threads;
    return absl::ResourceExhaustedError(
        "too many calls hang already (name servers, disks)");
  }
  try {
    std::thread([work = std::move(work)]() mutable {
      work();
      work = nullptr;  // destroy its captures before the count drops
      --blocked_threads;
    }).detach();
  } catch (const std::system_error& error) {
    --blocked_threads;
    return absl::ResourceExhaustedError(error.what());
  }
  return absl::OkStatus();
}

int CountBlockedThreads() { return blocked_threads; }

void AwaitBlockedThreads(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kPoll{2};
  for (auto waited = kPoll; waited < limit; waited += kPoll) {
    if (CountBlockedThreads() == 0) return;
    std::this_thread::sleep_for(kPoll);
  }
}

DoneSignal::DoneSignal() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

DoneSignal::~DoneSignal() {
  if (fd_ >= 0) close(fd_);
}

void DoneSignal::Set() {
  constexpr uint64_t kOne = 1;
  is_set_.store(true, std::memory_order_release);
  (void)!write(fd_, &kOne, sizeof(kOne));
}

}  // namespace walpost
