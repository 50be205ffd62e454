// PendingSlotEvents: finds the rows of the outbox that will come through a
// slot, so that the initial snapshot leaves them out.
//
//   slot begins           snapshot
//   ────┼──── row A ─────────┼───── row B ──▶ stream: A, B
//       └ the snapshot shows A, which is left to the stream, in its order
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "config/config.h"
#include "outbox/event_set.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"

namespace walpost {

class PendingSlotEvents {
 public:
  // `config` outlives this object.
  PendingSlotEvents(boost::asio::any_io_executor executor, const Config& config)
      : executor_(std::move(executor)), config_(config) {}

  // The events that were committed before `end`, on a connection of its own.
  // The server decodes the WAL since the slot begins once more. `routes`
  // outlives the coroutine.
  //
  // Errors are those of PeekSlot. kCancelled: Interrupt was called.
  boost::asio::awaitable<absl::StatusOr<EventSet>> Run(
      const std::vector<Route>& routes, Lsn end);
  // Ends Run soon, for good.
  void Interrupt();

 private:
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> AwaitFlush(Lsn end);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  std::unique_ptr<Connection> connection_;  // during Run
  bool is_interrupted_ = false;
};

}  // namespace walpost
