#include "loop/secret_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "base/time.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMaxOutputBytes = size_t{64} << 10;
constexpr size_t kPipeBytes = size_t{128} << 10;
// Bytes of stderr that an error shows.
constexpr size_t kShownBytes = 300;
// Interval for checking whether the program has exited or printed something.
constexpr std::chrono::milliseconds kPoll{5};

// A pipe that the program writes to.
class Output {
 public:
  explicit Output(bool keeps_end) : keeps_end_(keeps_end) {}
  ~Output() {
    for (const int fd : ends_) {
      if (fd >= 0) close(fd);
    }
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool Open() {
    return pipe2(ends_.data(), O_CLOEXEC) == 0 &&
           fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0;
  }
  int write_end() const { return ends_[1]; }
  void CloseWriteEnd() { close(std::exchange(ends_[1], -1)); }

  // Reads the available bytes, up to the size of a full pipe. Beyond the limit,
  // either the oldest bytes are dropped or is_too_long becomes true.
  void Drain() {
    std::array<char, 4096> buffer;
    for (size_t taken = 0; taken < kPipeBytes; taken += buffer.size()) {
      const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
      if (count <= 0) return;
      text_.append(buffer.data(), static_cast<size_t>(count));
      if (text_.size() <= kMaxOutputBytes) continue;
      is_too_long_ = !keeps_end_;
      text_.erase(0, text_.size() - kMaxOutputBytes);
    }
  }

  const std::string& text() const { return text_; }
  bool is_too_long() const { return is_too_long_; }

 private:
  bool keeps_end_;
  std::array<int, 2> ends_{-1, -1};
  std::string text_;
  bool is_too_long_ = false;
};

// A started program. Destroying the object kills its process group.
class Child {
 public:
  Child() = default;
  ~Child() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns 0 or an errno.
  int Start(const std::vector<std::string>& words, int out, int err) {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
    // Not every library marks its sockets close-on-exec.
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // Otherwise it inherits the signals that walpost ignores or blocks.
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                              POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    pid_t pid = -1;
    const int error = posix_spawnp(&pid, arguments[0], &files, &attributes,
                                   arguments.data(), environ);
    if (error == 0) pid_ = pid;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
  }

  // The wait status, once the program has exited.
  std::optional<int> Ended() {
    int status = 0;
    // ECHILD: walpost's parent has set SIGCHLD to be ignored, so the kernel
    // keeps no exit code. Then the output counts.
    if (waitpid(pid_, &status, WNOHANG) == 0) return std::nullopt;
    kill(-pid_, SIGKILL);  // its remaining children
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
};

// End of stderr, as one line.
std::string LastWords(const std::string& text) {
  std::string line(absl::StripAsciiWhitespace(text));
  if (line.size() > kShownBytes) {
    line = "..." + line.substr(line.size() - kShownBytes);
  }
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' '; }, ' ');
  return ValidUtf8(line, line.size());
}

// The status is kUnavailable, and has only the cause.
absl::StatusOr<std::string> SecretOf(const SecretCommandKind& kind,
                                     const Output& out) {
  if (out.is_too_long()) {
    return absl::UnavailableError(
        fmt::format("printed more than {} bytes: it must print {}, and nothing "
                    "else",
                    kMaxOutputBytes, kind.secret));
  }
  std::string secret(absl::StripTrailingAsciiWhitespace(out.text()));
  if (secret.empty()) {
    return absl::UnavailableError(
        fmt::format("printed nothing on stdout: {} is expected", kind.secret));
  }
  const bool has_lines = secret.find('\n') != std::string::npos;
  if ((has_lines && !kind.may_have_lines) ||
      secret.find('\0') != std::string::npos) {
    return absl::UnavailableError(
        fmt::format("printed more than one line: it must print {}, and nothing "
                    "else",
                    kind.secret));
  }
  return secret;
}

std::string Describe(int status, const std::string& last_words) {
  const std::string said =
      last_words.empty() ? "" : fmt::format(": {}", last_words);
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {}{}", WTERMSIG(status), said);
  }
  return fmt::format("exited with code {}{}", WEXITSTATUS(status), said);
}

}  // namespace

absl::Status SecretCommandError(const SecretCommandKind& kind,
                                const std::vector<std::string>& words,
                                std::string_view cause) {
  return absl::UnavailableError(
      fmt::format("{}: {} {}", kind.key, words.front(), cause));
}

asio::awaitable<absl::StatusOr<std::string>> RunSecretCommand(
    asio::any_io_executor executor, SecretCommandKind kind,
    std::vector<std::string> words, std::chrono::milliseconds limit) {
  const auto failed = [&](const std::string& cause) {
    return SecretCommandError(kind, words, cause);
  };
  Output out(/*keeps_end=*/false);
  Output err(/*keeps_end=*/true);
  Child child;
  int error = 0;
  if (!out.Open() || !err.Open()) {
    error = errno;
  } else {
    error = child.Start(words, out.write_end(), err.write_end());
  }
  if (error != 0) {
    co_return failed(fmt::format("cannot be run: {}", std::strerror(error)));
  }
  out.CloseWriteEnd();
  err.CloseWriteEnd();
  asio::steady_timer timer(executor);
  const MonotonicTime deadline = Clock::now() + limit;
  std::optional<int> ended;
  while (!ended && !out.is_too_long() && Clock::now() < deadline) {
    timer.expires_after(kPoll);
    co_await timer.async_wait(kAsTuple);
    ended = child.Ended();
    out.Drain();
    err.Drain();
  }
  if (!ended && !out.is_too_long()) {
    co_return failed(fmt::format("has not ended within {} ms{}{}",
                                 limit.count(), err.text().empty() ? "" : ": ",
                                 LastWords(err.text())));
  }
  if (ended && *ended != 0) {
    co_return failed(Describe(*ended, LastWords(err.text())));
  }
  absl::StatusOr<std::string> secret = SecretOf(kind, out);
  if (!secret.ok()) co_return failed(std::string(secret.status().message()));
  co_return secret;
}

}  // namespace walpost
