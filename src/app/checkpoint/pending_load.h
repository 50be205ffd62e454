// PendingLoad: result of a checkpoint store that a coroutine waits for. Shared
// with the callback, which may come after the wait.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "checkpoint/checkpoint.h"

namespace walpost {

class PendingLoad {
 public:
  // After a save: nullopt, or its error.
  using Loaded = absl::StatusOr<std::optional<Checkpoint>>;

  explicit PendingLoad(boost::asio::any_io_executor executor)
      : arrived_(executor) {}

  void Arrive(Loaded loaded) {
    loaded_ = std::move(loaded);
    arrived_.cancel();
  }

  // Waits for the answer, at most until `deadline`.
  boost::asio::awaitable<void> WaitUntil(MonotonicTime deadline) {
    if (loaded_) co_return;
    arrived_.expires_at(deadline);
    co_await arrived_.async_wait(
        boost::asio::as_tuple(boost::asio::use_awaitable));
  }

  // nullopt: not answered yet.
  const std::optional<Loaded>& loaded() const { return loaded_; }

 private:
  boost::asio::steady_timer arrived_;
  std::optional<Loaded> loaded_;
};

}  // namespace walpost
