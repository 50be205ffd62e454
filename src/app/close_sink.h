// Closes a sink from a coroutine.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/time.h"
#include "delivery/record_sink.h"

namespace walpost {

// Returns when the sink is closed; it must live until then.
inline boost::asio::awaitable<void> CloseSink(Sink& sink,
                                              MonotonicTime deadline) {
  constexpr auto kAsTuple = boost::asio::as_tuple(boost::asio::use_awaitable);
  const auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer closed(executor, MonotonicTime::max());
  sink.Close(deadline, [&closed] { closed.cancel(); });
  co_await closed.async_wait(kAsTuple);
}

}  // namespace walpost
