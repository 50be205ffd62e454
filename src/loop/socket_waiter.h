// SocketWaiter: waits on libpq's socket from a coroutine.
//
// It watches a dup() of the descriptor. libpq closes and reopens its socket
// while it connects, and often gets the same number again; Asio would continue
// to watch the closed socket and never wake.
//
// Outside a wait the event loop does not know the socket. Otherwise it would
// wake for each piece that arrives, and a walsender sends one per message.
//
// Owned by a Connection; one coroutine waits at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "absl/status/status.h"
#include "base/time.h"

namespace walpost {

class SocketWaiter {
 public:
  enum class Interest { kRead, kWrite, kTimeOnly };

  explicit SocketWaiter(boost::asio::any_io_executor executor);
  ~SocketWaiter();
  SocketWaiter(const SocketWaiter&) = delete;
  SocketWaiter& operator=(const SocketWaiter&) = delete;

  // Watches `socket` from now on. Call it again whenever libpq may have changed
  // the socket, and Release before libpq closes it. kUnavailable: the process
  // has no descriptor left, and nothing is watched.
  [[nodiscard]] absl::Status Watch(int socket);
  void Release();

  // Returns when the socket is ready, at `until`, or after Wake; sometimes for
  // no reason. The caller checks its condition again.
  boost::asio::awaitable<void> Wait(Interest interest, MonotonicTime until);

  // Ends the current wait, or the next one.
  void Wake();

 private:
  boost::asio::awaitable<void> WaitForSocket(Interest interest);
  void CancelWait();

  int socket_ = -1;  // the descriptor's during a wait, else ours; -1: none
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
  bool wake_pending_ = false;
  // Shared only to be watched: expires with this object.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace walpost
