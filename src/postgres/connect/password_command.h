// postgres.password_command: a program that prints the password of a new
// connection, as managed databases with short-lived tokens need it.
//
// The program runs without a shell, with the environment of walpost, an empty
// stdin, and its own process group, which is killed if it takes too long. Only
// the errors contain its name, and never its stdout.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost {

inline constexpr std::chrono::milliseconds kPasswordCommandLimit{10'000};

// Returns the output without the newline at the end. `words` is not empty: the
// program, looked up in PATH, and its arguments.
//
// kUnavailable, because the next connection tries again: the program cannot be
// started, exits with a code other than 0 (the text has the end of its stderr),
// prints nothing, more than a line or more than 64 KiB, or does not exit within
// `limit`.
boost::asio::awaitable<absl::StatusOr<std::string>> RunPasswordCommand(
    boost::asio::any_io_executor executor, std::vector<std::string> words,
    std::chrono::milliseconds limit = kPasswordCommandLimit);

}  // namespace walpost
