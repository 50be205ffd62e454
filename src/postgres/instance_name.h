// InstanceName: who we are in pg_stat_replication, and whether another name
// there is that of a dead predecessor.
//
//   walpost:<slot>:<host>:<pid>         (the server cuts at 63 bytes)
//
// A walpost that was killed by a crash of its host, or cut off by the network,
// leaves a walsender behind that holds the slot until wal_sender_timeout. The
// walpost that starts in its place need not wait: a name with our slot and our
// host whose process does not exist any more, or has our own pid (a container
// that started anew), is a predecessor. Nobody else's walsender is touched. A
// host that calls itself localhost has the head of its /etc/machine-id added.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

class InstanceName {
 public:
  // Whether a process runs on this host.
  using IsAlive = bool (*)(long pid);

  InstanceName(std::string slot, std::string host, long pid);

  // This process on this host.
  static InstanceName OfThisProcess(const std::string& slot);

  // "walpost:<slot>:<host>:<pid>", at most 63 bytes.
  const std::string& text() const { return text_; }

  // Whether `other`, an application_name, is that of a dead predecessor. A
  // name that was cut never is.
  bool IsDeadPredecessor(std::string_view other, IsAlive is_alive) const;

 private:
  std::string prefix_;  // walpost:<slot>:<host>:
  long pid_;
  std::string text_;
};

// By kill(pid, 0); a process of another user is alive, too.
bool ProcessIsAlive(long pid);

}  // namespace walpost
