#include "app/checkpoint/checkpoint_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/own_arguments.h"
#include "checkpoint/checkpoint_codec.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr mode_t kMode = 0644;

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// Repeats a call that a signal has interrupted.
template <typename Call>
ssize_t Retry(Call call) {
  ssize_t result = 0;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

// Reads up to `limit` bytes; nullopt with errno set.
std::optional<std::string> ReadUpTo(int fd, size_t limit) {
  std::string bytes(limit, '\0');
  size_t size = 0;
  while (size < limit) {
    const ssize_t count =
        Retry([&] { return read(fd, bytes.data() + size, limit - size); });
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

// Returns false with errno set.
bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        Retry([&] { return write(fd, bytes.data(), bytes.size()); });
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

CheckpointFile::CheckpointFile(std::string path) : path_(std::move(path)) {}

std::string CheckpointFile::Name() const {
  return fmt::format("file {}", path_);
}

std::string CheckpointFile::HowToRemove(
    const Checkpoint& /*checkpoint*/) const {
  return "rm " + ShellWord(path_);
}

void CheckpointFile::Load(Loaded done) {
  const absl::Status locked = Lock();
  if (!locked.ok()) return done(locked);
  done(Read());
}

void CheckpointFile::Save(const Checkpoint& checkpoint, Saved done) {
  absl::Status status = Lock();
  if (status.ok()) status = Write(EncodeCheckpoint(checkpoint));
  done(status);
}

absl::Status CheckpointFile::Lock() {
  if (lock_.is_open()) return absl::OkStatus();
  const std::string path = path_ + ".lock";
  FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (!lock.is_open()) return Failed("locking", errno);
  if (Retry([&] { return flock(lock.get(), LOCK_EX | LOCK_NB); }) < 0) {
    if (errno != EWOULDBLOCK) return Failed("locking", errno);
    constexpr size_t kPidDigits = 20;
    const std::string holder =
        ReadUpTo(lock.get(), kPidDigits).value_or("").substr(0, kPidDigits);
    return absl::UnavailableError(fmt::format(
        "checkpoint {}: process {} holds {}: stop it, or give this walpost "
        "another checkpoint.path",
        Name(), holder.substr(0, holder.find('\n')), path));
  }
  // For people only; the lock itself is what counts.
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(lock.get(), 0) == 0) WriteAll(lock.get(), pid);
  lock_ = std::move(lock);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Checkpoint>> CheckpointFile::Read() const {
  const FileDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open()) return Failed("opening", errno);
  const std::optional<std::string> bytes =
      ReadUpTo(file.get(), kMaxCheckpointBytes + 1);
  if (!bytes) return Failed("reading", errno);
  absl::StatusOr<Checkpoint> checkpoint = DecodeCheckpoint(*bytes);
  if (checkpoint.ok()) return *std::move(checkpoint);
  return absl::DataLossError(fmt::format(
      "checkpoint {}: {}; to continue where the slot stands: mv {} {}.bad",
      Name(), std::string(checkpoint.status().message()), path_, path_));
}

absl::Status CheckpointFile::Write(std::string_view bytes) const {
  const std::string temporary = path_ + ".tmp";
  {
    const FileDescriptor file(open(
        temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
    if (!file.is_open()) return Failed("creating .tmp beside", errno);
    if (!WriteAll(file.get(), bytes)) return Failed("writing", errno);
    if (Retry([&] { return fsync(file.get()); }) < 0) {
      return Failed("syncing", errno);
    }
  }
  if (rename(temporary.c_str(), path_.c_str()) < 0) {
    return Failed("replacing", errno);
  }
  const std::string name = FolderOf(path_);
  const FileDescriptor folder(
      open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || Retry([&] { return fsync(folder.get()); }) < 0) {
    return Failed("syncing the folder of", errno);
  }
  return absl::OkStatus();
}

absl::Status CheckpointFile::Failed(std::string_view attempted,
                                    int error) const {
  const std::string text = fmt::format("{} checkpoint {}: {}", attempted,
                                       Name(), std::strerror(error));
  const std::string folder = FolderOf(path_);
  switch (error) {
    case ENOENT:
      return absl::FailedPreconditionError(
          fmt::format("{}; make its folder: mkdir -p {}", text, folder));
    case ENOTDIR:
      return absl::FailedPreconditionError(fmt::format(
          "{}; {} is a file or lies below one: correct checkpoint.path", text,
          folder));
    case EACCES:
    case EPERM:
      return absl::FailedPreconditionError(fmt::format(
          "{}; let user {} write to folder {}", text, geteuid(), folder));
    case EROFS:
      return absl::FailedPreconditionError(fmt::format(
          "{}; give checkpoint.path a place that can be written", text));
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return absl::FailedPreconditionError(
          fmt::format("{}; checkpoint.path must name a file", text));
    default:  // a full disk, a broken one
      return absl::UnavailableError(text);
  }
}

}  // namespace walpost
