#include "loop/socket_waiter.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "loop/as_tuple.h"
#include "loop/descriptors.h"

namespace walpost {

namespace asio = boost::asio;

SocketWaiter::SocketWaiter(asio::any_io_executor executor)
    : descriptor_(executor), timer_(executor) {}

SocketWaiter::~SocketWaiter() { Release(); }

absl::Status SocketWaiter::Watch(int socket) {
  Release();
  const int copy = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return NoDescriptor();
  boost::system::error_code error;
  descriptor_.assign(copy, error);
  if (!error) return absl::OkStatus();
  close(copy);
  errno = error.value();
  return NoDescriptor();
}

void SocketWaiter::Release() {
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

asio::awaitable<void> SocketWaiter::Wait(Interest interest,
                                         MonotonicTime until) {
  if (wake_pending_) {
    wake_pending_ = false;
    co_return;
  }
  timer_.expires_at(until);
  if (interest == Interest::kTimeOnly) {
    co_await timer_.async_wait(kAsTuple);
  } else {
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
  }
  wake_pending_ = false;
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
