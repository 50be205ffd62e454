// DeadLetterRetrier: sends the dead letters of the table that an operator wants
// sent again.
//
//   ParkingTable ──dead_letter_retry──▶ StoredEventSender ──▶ Kafka
//        ▲                                  │
//        └──────────── result ◀─────────────┘
//
// No key waits for them, so no lane is involved. A letter that was sent before
// a crash, and is not marked, is sent again.
//
// Owned by the ParkedEventService, whose table it shares: one call at a time.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/stored/stored_event_sender.h"
#include "base/time.h"
#include "config/config.h"
#include "postgres/parking/parking_table.h"

namespace walpost {

class DeadLetterRetrier {
 public:
  // All arguments outlive this object. `wake` is called when there is a result.
  DeadLetterRetrier(boost::asio::any_io_executor executor, const Config& config,
                    ParkingTable& table, std::function<void()> wake);

  // A stream begins.
  void Begin();
  // Handles one result, or begins one batch. False: there was nothing to do.
  // Errors are those of the table.
  boost::asio::awaitable<absl::StatusOr<bool>> Turn();
  // See StoredEventSender::waits_for.
  std::string waits_for(MonotonicTime now) const {
    return run_ == nullptr ? "" : run_->waits_for(now);
  }
  // Ends the batch soon, and closes its sink.
  boost::asio::awaitable<void> End();

 private:
  boost::asio::awaitable<absl::StatusOr<bool>> Look();
  boost::asio::awaitable<absl::Status> Settle(StoredEventSender::Result result);
  boost::asio::awaitable<absl::Status> PutBack(ParkedRow row,
                                               absl::Status reason);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  ParkingTable& table_;
  std::function<void()> wake_;
  std::unique_ptr<StoredEventSender> run_;
  bool is_looking_ = false;
  MonotonicTime next_at_{};
};

}  // namespace walpost
