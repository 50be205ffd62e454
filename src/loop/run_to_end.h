// Runs one coroutine to its end on a separate event loop: for verbs that do one
// thing after the other.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <utility>

namespace walpost {

template <typename Result>
Result RunToEnd(boost::asio::io_context& io,
                boost::asio::awaitable<Result> coroutine) {
  Result result;
  boost::asio::co_spawn(io, std::move(coroutine),
                        [&](const std::exception_ptr& exception, Result value) {
                          if (exception) std::rethrow_exception(exception);
                          result = std::move(value);
                          io.stop();
                        });
  io.restart();
  io.run();
  return result;
}

}  // namespace walpost
