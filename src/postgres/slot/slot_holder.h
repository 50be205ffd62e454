// SlotHolder: finds out who has the slot if we do not, and whether that is a
// walpost that streams.
//
// Only then are we a standby. A walpost that still creates the slot, or is
// frozen, delivers nothing. A dead one leaves a backend that holds the slot
// until wal_sender_timeout or, while it creates the slot, as long as other
// transactions last.
//
// Owned by SourceSetup, which looks before each attempt to get the slot.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/instance_name.h"

namespace walpost {

class SlotHolder {
 public:
  // Both arguments outlive this object.
  SlotHolder(const std::string& slot, const InstanceName& name)
      : slot_(slot), name_(name), our_start_(WallNow()) {}

  // Reads the current holder. Errors come from the connection.
  boost::asio::awaitable<absl::Status> Look(Connection& connection,
                                            MonotonicTime now);

  // True if another walpost of this slot runs, by its side session. It may have
  // had the slot.
  boost::asio::awaitable<absl::StatusOr<bool>> FindOthers(
      Connection& connection);

  // If the holder is left over from an earlier run of this walpost, terminates
  // it, so that the next attempt need not wait for it.
  boost::asio::awaitable<void> EndDeadPredecessor(Connection& connection);

  // Notes a backend of this process that creates the slot; it is left over if
  // its connection is lost or given up.
  void NoteOwnBackend(int pid) { own_pid_ = std::to_string(pid); }

  // The application_name; empty: not known.
  const std::string& user() const { return user_; }
  // True if the user is a walpost of this slot.
  bool is_walpost() const;
  // Why we are not a standby of the holder; empty: it streams, as far as is
  // known.
  const std::string& trouble() const { return trouble_; }
  // Why it is not known whether the holder streams, and the remedy; or empty.
  const std::string& doubt() const { return doubt_; }

 private:
  void NoteReply(const std::string& pid, const std::string& reply_time,
                 MonotonicTime now);

  const std::string& slot_;
  const InstanceName& name_;
  const WallTime our_start_;
  std::string own_pid_;

  std::string pid_;
  std::string user_;
  bool is_dead_ = false;
  std::string trouble_;
  std::string doubt_;
  // The holder's last sign of life, by its own clock or the server's, and the
  // time, by our clock, when that last changed.
  std::string reply_time_;
  MonotonicTime reply_changed_at_{};
};

// Finds out what the creation of a logical slot waits for.
//
// CREATE_REPLICATION_SLOT needs a moment without the transactions that were
// running before it, and waits for each of them to end. Until then the slot is
// in pg_replication_slots, active and without confirmed_flush_lsn.
//
// Text for people: who creates the slot (or the one from which a walpost of
// that slot takes its initial snapshot), which transactions it waits for, and
// the SQL that terminates them. Empty: no slot is being created.
boost::asio::awaitable<absl::StatusOr<std::string>> DescribeSlotCreation(
    Connection& connection, std::string slot);

}  // namespace walpost
