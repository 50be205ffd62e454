#include "app/process/signal_thread.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include "log/log.h"
#include "log/process_log.h"

namespace walpost {
namespace {

// Time for the last lines of the log.
constexpr std::chrono::milliseconds kLogLimit{200};

[[noreturn]] void Leave(int exit_code) {
  ProcessLog::Flush(kLogLimit);
  std::_Exit(exit_code);
}

}  // namespace

SignalThread::SignalThread(std::chrono::milliseconds limit,
                           std::function<void()> shutdown,
                           std::function<void()> reload)
    : signals_(io_, SIGINT, SIGTERM, SIGHUP),
      last_resort_(io_),
      limit_(limit),
      shutdown_(std::move(shutdown)),
      reload_(std::move(reload)) {
  Wait();
  thread_ = std::thread([this] { io_.run(); });
}

SignalThread::~SignalThread() {
  io_.stop();
  thread_.join();
  signals_.remove(SIGHUP);
  std::signal(SIGHUP, SIG_IGN);  // it would kill the process now
}

void SignalThread::Wait() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    if (signal == SIGHUP) {
      reload_();
    } else if (asked_) {
      Leave(128 + signal);
    } else {
      AskToEnd();
    }
    Wait();
  });
}

void SignalThread::AskToEnd() {
  asked_ = true;
  last_resort_.expires_after(limit_);
  last_resort_.async_wait([this](boost::system::error_code stopped) {
    if (stopped) return;
    LogWarn("the shutdown takes longer than {} ms: exiting at once",
            limit_.count());
    Leave(EXIT_SUCCESS);
  });
  shutdown_();
}

}  // namespace walpost
