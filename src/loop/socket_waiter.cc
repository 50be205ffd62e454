#include "loop/socket_waiter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "loop/as_tuple.h"
#include "loop/descriptors.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// If the kernel can watch no more sockets.
constexpr std::chrono::milliseconds kLookAgain{10};

}  // namespace

SocketWaiter::SocketWaiter(asio::any_io_executor executor)
    : descriptor_(executor), timer_(executor) {}

SocketWaiter::~SocketWaiter() { Release(); }

absl::Status SocketWaiter::Watch(int socket) {
  Release();
  socket_ = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  return socket_ < 0 ? NoDescriptor() : absl::OkStatus();
}

void SocketWaiter::Release() {
  boost::system::error_code ignored;
  if (descriptor_.is_open()) {
    descriptor_.close(ignored);
  } else if (socket_ >= 0) {
    close(socket_);
  }
  socket_ = -1;
}

asio::awaitable<void> SocketWaiter::Wait(Interest interest,
                                         MonotonicTime until) {
  if (wake_pending_) {
    wake_pending_ = false;
    co_return;
  }
  boost::system::error_code error;
  if (interest != Interest::kTimeOnly) {
    descriptor_.assign(socket_, error);
    if (error) until = std::min(until, Clock::now() + kLookAgain);
  }
  timer_.expires_at(until);
  if (interest == Interest::kTimeOnly || error) {
    co_await timer_.async_wait(kAsTuple);
  } else {
    co_await WaitForSocket(interest);
  }
  wake_pending_ = false;
}

asio::awaitable<void> SocketWaiter::WaitForSocket(Interest interest) {
  // If both are ready at once, as after a suspension, the handler runs after
  // the wait, and perhaps after this object was destroyed.
  std::weak_ptr<const bool> lifetime = lifetime_;
  timer_.async_wait([this, lifetime](boost::system::error_code error) {
    if (!error && !lifetime.expired()) CancelWait();
  });
  const auto type = interest == Interest::kRead
                        ? asio::posix::stream_descriptor::wait_read
                        : asio::posix::stream_descriptor::wait_write;
  co_await descriptor_.async_wait(type, kAsTuple);
  timer_.cancel();
  if (descriptor_.is_open()) descriptor_.release();
}

void SocketWaiter::CancelWait() {
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

void SocketWaiter::Wake() {
  wake_pending_ = true;
  timer_.cancel();
  CancelWait();
}

}  // namespace walpost
