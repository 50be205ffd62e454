// SimulatedWalsender: one replication connection, with both ends and the
// network between.
//
//   server ── frames ──▶ network ──▶ Read          relay
//          ◀─ Receive ── network ◀── SendStatus
//
// Data on its way stays there until it is taken: a relay that was suspended
// finds old frames, and a status may be read after its sender has stopped.
// While the connection is cut, neither end hears from the other.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/lsn.h"
#include "session/frame_source.h"
#include "sim/simulated_postgres.h"
#include "sim/simulated_slot.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedWalsender {
 public:
  static constexpr milliseconds kTimeout{4000};  // wal_sender_timeout

  struct Keepalive {
    Lsn wal_end;
    bool reply_requested;
  };
  using Frame = std::variant<std::string, Keepalive>;

  // START_REPLICATION: from `requested`, or from the slot's position if that is
  // later.
  SimulatedWalsender(World& world, const SimulatedPostgres& server,
                     SimulatedSlot& slot, Lsn requested);

  // It has no news of its own accord: only a reply says how far the WAL goes.
  void BeQuiet() { is_quiet_ = true; }

  // ---- The server's end.

  // Puts another frame on the network, if there is a frame and room for it.
  void Send();
  // Reads one status.
  void Receive();
  // True if the walsender has ended and released the slot.
  bool has_ended() const { return has_ended_; }
  // It is killed: data on its way to it is lost.
  void Terminate() {
    has_ended_ = true;
    statuses_.clear();
  }

  void CutOff(bool cut) { is_cut_ = cut; }
  bool is_cut() const { return is_cut_; }

  // True if nothing is left to send.
  bool IsThrough() const;

  // ---- The relay's end.

  std::optional<Frame> Read();
  bool HasFrames() const { return !is_cut_ && !frames_.empty(); }
  // True if there will never be another frame.
  bool IsAtEnd() const { return has_ended_ && frames_.empty() && !is_cut_; }
  void SendStatus(const StatusUpdate& update) { statuses_.push_back(update); }
  void Close() { is_closed_ = true; }

 private:
  static constexpr size_t kMaxFrames = 12;  // capacity of the network

  void SendKeepalive(bool reply_requested);
  void Unfold(const SimulatedPostgres::Transaction& transaction);

  World& world_;
  const SimulatedPostgres& server_;
  SimulatedSlot& slot_;
  std::deque<Frame> frames_;
  std::deque<StatusUpdate> statuses_;
  bool is_cut_ = false;
  bool is_closed_ = false;  // by the relay

  bool has_ended_ = false;
  MonotonicTime last_reply_;
  bool has_asked_ = false;
  bool is_quiet_ = false;
  bool must_reply_ = false;
  Lsn sent_to_;
  size_t next_;                      // transaction
  std::vector<std::string> unsent_;  // of the current one, next at the back
  bool has_described_ = false;
};

}  // namespace walpost::sim
