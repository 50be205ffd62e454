// CheckpointFile: one checkpoint in one file of a local disk.
//
//   walpost.checkpoint        the encoded checkpoint, whole or missing
//   walpost.checkpoint.tmp    during a write; a leftover has no meaning
//   walpost.checkpoint.lock   locked while the process lives; holds its pid
//
// Written to .tmp, synced, renamed, and the folder synced: after a crash of the
// machine the old or the new file is there. The lock (flock) ends with the
// process, however it dies, and does not work across a network file system.
//
// Blocks while the disk syncs twice: the loop uses it through a
// ThreadedCheckpointStore.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "checkpoint/checkpoint_store.h"

namespace walpost {

// FileDescriptor: closes the descriptor when destroyed.
class FileDescriptor {
 public:
  // -1, as open returns it: none.
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (is_open()) close(fd_);
  }

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

class CheckpointFile final : public CheckpointStore {
 public:
  // Does not access the file yet.
  explicit CheckpointFile(std::string path);

  // Load and Save take the lock first. kUnavailable: another process holds it.
  // Callbacks come from within the call.
  void Load(Loaded done) override;
  void LoadUnlocked(Loaded done) override { done(Read()); }
  void Save(const Checkpoint& checkpoint, Saved done) override;

  void Release() override { lock_ = FileDescriptor(); }

  std::string Name() const override;
  std::string HowToRemove(const Checkpoint& checkpoint) const override;

 private:
  absl::StatusOr<std::optional<Checkpoint>> Read() const;
  absl::Status Lock();
  absl::Status Write(std::string_view bytes) const;
  absl::Status Failed(std::string_view attempted, int error) const;

  std::string path_;
  FileDescriptor lock_;
};

}  // namespace walpost
