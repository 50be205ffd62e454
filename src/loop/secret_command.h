// A program that prints a short-lived secret: postgres.password_command,
// kafka.token_command.
//
// It runs without a shell, with the environment of walpost, an empty stdin, and
// its own process group, which is killed if it takes too long. Errors name the
// key and the program, and never contain its arguments or its stdout.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace walpost {

inline constexpr std::chrono::milliseconds kSecretCommandLimit{10'000};

struct SecretCommandKind {
  std::string_view key;     // of the configuration
  std::string_view secret;  // what the program prints: "the password"
  bool may_have_lines = false;
};
inline constexpr SecretCommandKind kPasswordCommand{"postgres.password_command",
                                                    "the password"};
inline constexpr SecretCommandKind kTokenCommand{
    "kafka.token_command", "the token", /*may_have_lines=*/true};

// Returns the output without white space at the end. `words` is not empty: the
// program, looked up in PATH, and its arguments. Destroying the coroutine kills
// the program.
//
// kUnavailable, because the next attempt may succeed: the program cannot be
// started, exits with a code other than 0 (the text has the end of its stderr),
// prints nothing, more than a line (unless the kind may have lines) or more
// than 64 KiB, or does not exit within `limit`.
boost::asio::awaitable<absl::StatusOr<std::string>> RunSecretCommand(
    boost::asio::any_io_executor executor, SecretCommandKind kind,
    std::vector<std::string> words,
    std::chrono::milliseconds limit = kSecretCommandLimit);

// "KEY: PROGRAM CAUSE", as the errors of RunSecretCommand.
absl::Status SecretCommandError(const SecretCommandKind& kind,
                                const std::vector<std::string>& words,
                                std::string_view cause);

}  // namespace walpost
