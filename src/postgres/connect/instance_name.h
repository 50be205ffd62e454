// InstanceName: our name in pg_stat_replication, and the check whether another
// name there belongs to a dead predecessor.
//
//   walpost:<slot>:<host>:<pid>         (fitted: session_name.h)
//
// A walpost that was killed by a crash of its host, or cut off by the network,
// leaves a walsender that holds the slot until wal_sender_timeout. The walpost
// that starts in its place need not wait. A name is a predecessor's if it has
// our slot and our host, and its process does not exist any more or has our own
// pid (a restarted container). No other walsender is touched. A host that calls
// itself localhost gets the head of its /etc/machine-id added.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

class InstanceName {
 public:
  // True if a process runs on this host.
  using IsAlive = bool (*)(long pid);

  InstanceName(std::string slot, std::string host, long pid);

  // Name of this process on this host.
  static InstanceName OfThisProcess(const std::string& slot);

  // At most 58 bytes: ":side" is appended.
  const std::string& text() const { return text_; }

  // True if `other`, an application_name, belongs to a dead predecessor. Always
  // false for a name that was cut.
  bool IsDeadPredecessor(std::string_view other, IsAlive is_alive) const;

 private:
  std::string prefix_;  // walpost:<slot>:<host>:
  long pid_;
  std::string text_;
};

// Uses kill(pid, 0); a process of another user counts as alive.
bool ProcessIsAlive(long pid);

}  // namespace walpost
