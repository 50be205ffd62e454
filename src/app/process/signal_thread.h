// SignalThread: handles SIGINT, SIGTERM and SIGHUP on a thread of its own.
//
// The first signal starts a clean shutdown, the second exits at once. The
// process also exits if the clean shutdown takes longer than its limit. A
// hanging name server, disk or pipe cannot block this thread. Nothing is lost:
// events that are not confirmed are sent again. SIGHUP triggers a reload, and
// is ignored after this object is destroyed.
//
// Created before and destroyed after everything that might hang.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <thread>

namespace walpost {

class SignalThread {
 public:
  // `shutdown` is called once, on this thread; it must not block. The process
  // exits `limit` later, with exit code 0. `reload` is called for each SIGHUP
  // (several may count as one); it must not block, either.
  SignalThread(std::chrono::milliseconds limit, std::function<void()> shutdown,
               std::function<void()> reload);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void Wait();
  void AskToEnd();

  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer last_resort_;
  std::chrono::milliseconds limit_;
  std::function<void()> shutdown_;
  std::function<void()> reload_;
  bool asked_ = false;
  std::thread thread_;
};

}  // namespace walpost
