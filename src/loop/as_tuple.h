// kAsTuple: an awaited operation gives its error code back, and throws nothing.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace walpost {

inline constexpr auto kAsTuple =
    boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace walpost
