#include "loop/secret_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace walpost {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<std::string> RunWords(
    std::vector<std::string> words, milliseconds limit = milliseconds(10'000),
    const SecretCommandKind& kind = kPasswordCommand) {
  asio::io_context io;
  std::optional<absl::StatusOr<std::string>> result;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        result =
            co_await RunSecretCommand(io.get_executor(), kind, words, limit);
      },
      asio::detached);
  io.run();
  return *std::move(result);
}

// A few words of the shell, to be run as a program.
absl::StatusOr<std::string> RunShell(
    const std::string& script, milliseconds limit = milliseconds(10'000)) {
  return RunWords({"sh", "-c", script}, limit);
}

TEST(SecretCommandTest, ReturnsWhatIsPrintedWithoutTheLastNewline) {
  EXPECT_EQ(*RunWords({"echo", "a b'$HOME"}), "a b'$HOME");
  EXPECT_EQ(*RunShell("printf token"), "token");
  EXPECT_EQ(*RunShell("printf 'token\\r\\n\\n'"), "token");
  EXPECT_EQ(RunShell("head -c 60000 /dev/zero | tr '\\0' x")->size(), 60'000u);
}

TEST(SecretCommandTest, RunsWithoutAShellAndWithAnEmptyStdin) {
  EXPECT_EQ(*RunWords({"echo", "$HOME", ";", "false"}), "$HOME ; false");
  EXPECT_EQ(*RunShell("cat; echo token"), "token");
}

TEST(SecretCommandTest, HandsDownNoDescriptorAndNoIgnoredSignal) {
  EXPECT_EQ(*RunShell("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3");
  std::signal(SIGPIPE, SIG_IGN);
  const std::string ignored =
      *RunShell("grep SigIgn /proc/self/status | cut -f 2");
  EXPECT_EQ(std::stoull(ignored, nullptr, 16) & (1u << (SIGPIPE - 1)), 0u);
}

TEST(SecretCommandTest, ErrorsNameTheProgramItsCodeAndItsStderrAlone) {
  const absl::Status status =
      RunShell("echo t0ken; echo 'not logged in' >&2; exit 3").status();
  EXPECT_EQ(status, absl::UnavailableError(
                        "postgres.password_command: sh exited with code 3: not "
                        "logged in"));
  EXPECT_EQ(RunShell("echo t0ken; kill -9 $$").status(),
            absl::UnavailableError(
                "postgres.password_command: sh was ended by signal 9"));
  EXPECT_EQ(RunWords({"/no/such/program"}).status(),
            absl::UnavailableError("postgres.password_command: "
                                   "/no/such/program cannot be run: No such "
                                   "file or directory"));
}

TEST(SecretCommandTest, OutputThatIsNoPasswordIsAnErrorThatDoesNotShowIt) {
  for (const char* script :
       {"true", "echo", "printf 't0ken\\nt0ken'", "printf 't0ken\\0x'",
        "echo t0ken; head -c 70000 /dev/zero | tr '\\0' x", "yes t0ken"}) {
    const absl::StatusOr<std::string> result = RunShell(script);
    EXPECT_TRUE(absl::IsUnavailable(result.status())) << script;
    EXPECT_THAT(std::string(result.status().message()),
                Not(HasSubstr("t0ken")));
  }
}

TEST(SecretCommandTest, ATokenMayHaveLines) {
  const milliseconds limit(10'000);
  EXPECT_EQ(*RunWords({"printf", "{\n}\n"}, limit, kTokenCommand), "{\n}");
  EXPECT_EQ(RunWords({"true"}, limit, kTokenCommand).status(),
            absl::UnavailableError("kafka.token_command: true printed nothing "
                                   "on stdout: the token is expected"));
}

// Neither running nor waiting: gone, or a zombie that nobody has buried yet.
bool HasEnded(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string number, name, state;
  return !(stat >> number >> name >> state) || state == "Z";
}

TEST(SecretCommandTest, AProgramThatDoesNotEndIsKilledWithItsChildren) {
  const absl::Status status =
      RunShell("sleep 60 & echo $! >&2; wait", milliseconds(300)).status();
  const std::string text(status.message());
  const std::string expected =
      "postgres.password_command: sh has not ended within 300 ms: ";
  ASSERT_TRUE(text.starts_with(expected)) << text;
  const std::string pid = text.substr(expected.size());
  const auto until = std::chrono::steady_clock::now() + milliseconds(10'000);
  while (!HasEnded(pid) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(HasEnded(pid));
}

TEST(SecretCommandTest, AChildThatKeepsThePipesDoesNotHoldItUp) {
  EXPECT_EQ(*RunShell("sleep 60 & echo token", milliseconds(5'000)), "token");
}

// Noise without end is neither kept nor allowed to hold up the loop.
TEST(SecretCommandTest, TheLoopGoesOnMeanwhile) {
  asio::io_context io;
  int ticks = 0;
  bool ended = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const std::vector<std::string> words = {"sh", "-c", "yes >&2"};
        (void)co_await RunSecretCommand(io.get_executor(), kPasswordCommand,
                                        words, milliseconds(500));
        ended = true;
      },
      asio::detached);
  asio::steady_timer timer(io);
  std::function<void()> tick = [&] {
    if (ended) return;
    ++ticks;
    timer.expires_after(milliseconds(10));
    timer.async_wait([&](boost::system::error_code) { tick(); });
  };
  tick();
  io.run();
  EXPECT_GT(ticks, 10);
}

}  // namespace
}  // namespace walpost
