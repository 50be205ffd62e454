// GuardKeeper: moves the guard slot behind the live one.
//
// Has an SQL session of its own, for the server decodes the WAL that a slot is
// advanced over, and that may take a while; neither the stream nor the side
// session waits for it. It is opened when there is something to do.
//
// What to do is GuardSchedule's business. A guard slot that is gone or lost is
// made anew, loudly (guard_slot.h).
//
// Owned by the Relay, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "base/backoff.h"
#include "delivery/guard_schedule.h"
#include "postgres/connection.h"
#include "postgres/side_session.h"
#include "postgres/source_options.h"

namespace walpost {

class GuardKeeper {
 public:
  GuardKeeper(boost::asio::any_io_executor executor, WalSourceOptions options);

  // Returns at once when replay is off, else runs until Stop.
  boost::asio::awaitable<void> Run();
  void Stop();

  // How the slots stand, while it is this instance that streams.
  void OnReport(const SlotReport& report, uint64_t budget_bytes);

 private:
  boost::asio::awaitable<absl::Status> Act();
  boost::asio::awaitable<absl::Status> Remake();
  boost::asio::awaitable<absl::Status> Advance(Lsn to);

  boost::asio::any_io_executor executor_;
  WalSourceOptions options_;
  GuardSchedule schedule_;
  std::unique_ptr<Connection> connection_;
  boost::asio::steady_timer timer_;
  Backoff backoff_;
  std::optional<Lsn> target_;
  bool is_missing_ = false;
  bool was_cut_short_ = false;
  bool stopped_ = false;
};

}  // namespace walpost
