// ReplayWindowService: moves the guard slot after the live slot.
//
// Uses its own SQL session, because the server decodes the WAL that a slot is
// advanced over, and that may take a while. Neither the stream nor the side
// session waits for it. The session is opened when there is something to do.
//
// GuardSchedule decides what to do. A guard slot that is missing or lost is
// created again, with a warning (guard_slot.h).
//
// Owned by the Relay, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "base/backoff.h"
#include "checkpoint/guard_schedule.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/stream/monitor_session.h"

namespace walpost {

class ReplayWindowService {
 public:
  ReplayWindowService(boost::asio::any_io_executor executor,
                      WalSourceOptions options);

  // Returns at once if replay is off, else runs until Stop.
  boost::asio::awaitable<void> Run();
  void Stop();

  // State of the slots, while this instance streams.
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
