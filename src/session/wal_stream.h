// WalStream: the decisions of a replication stream.
//
//   frames ──▶ messages ──▶ steps ──▶ EventConsumer
//   status updates ◀── feedback ◀──── confirmable LSN
//
// One serves all connections of a process: Begin and End enclose each. In
// between its owner takes turns, and waits after each until WaitUntil, unless
// MustWake becomes true:
//
//   Check ─▶ TakeFrames ─▶ SendStatusIfDue ─▶ wait
//
// OnProgress is called when the consumer may have gone on meanwhile.
//
// Per turn it takes a limited number of frames, so that the owner's other work
// is served. If the consumer does not take an event, the event is kept, nothing
// further is read, and feedback continues.
//
// ReplicationReader drives it for run, replay and tail; the simulation drives
// it, too. Pure: the caller passes the time.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "base/time.h"
#include "delivery/event_consumer.h"
#include "outbox/options.h"
#include "outbox/transaction_assembler.h"
#include "pgoutput/stream_frame.h"
#include "session/feedback_schedule.h"
#include "session/frame_source.h"
#include "session/inactivity_timeout.h"
#include "session/process_suspend_detector.h"
#include "session/read_pacer.h"
#include "session/server_clock.h"
#include "session/standby_wait.h"

namespace walpost {

class WalStream {
 public:
  struct Options {
    std::string slot;
    std::string publication;
    std::string application_name;  // by which people find the walsender
    // The reaction to rows that the server skipped.
    std::string remedy;
    std::chrono::milliseconds status_interval{200};
    std::chrono::milliseconds wal_sender_timeout{30'000};
    // The longest time that an event waits so that others share its request
    // (read_pacer.h); 0: none.
    std::chrono::milliseconds latency_target{5};
    // Another instance may get the slot while this process is suspended.
    bool slot_is_shared = false;
    // Before rows of a table that is new by its pattern, it drains and ends in
    // order. Else that is an error (kFailedPrecondition).
    bool stops_at_new_tables = false;
    // SendStatusIfDue at this interval, and ask for the server's position each
    // time: an idle server does not report that it has reached the end. 0: tell
    // what is new, and ask only after a silence.
    std::chrono::milliseconds ask_interval{0};
  };
  // A connection that has begun to stream.
  struct Start {
    Lsn slot;  // its position
    Lsn end;   // the first commit not to be read; 0/0: none
    std::vector<uint32_t> table_oids = {};       // see TransactionAssembler
    std::vector<std::string> former_names = {};  // likewise
    bool requires_utf8 = false;
    std::optional<BaseTypes> base_types = {};  // likewise
  };
  // The event to wait for after a turn.
  enum class Next { kMore, kPause, kReadable, kRoom, kEnd };

  // `consumer` outlives this object. `references`: see TransactionAssembler.
  WalStream(Options options, OutboxOptions outbox,
            std::vector<std::vector<std::string>> references,
            EventConsumer& consumer);

  void Begin(Start start, MonotonicTime now, BootTime boot_now);
  void End();
  bool is_open() const { return assembler_.has_value(); }
  // All earlier LSNs are void.
  void Forget() { mapped_fields_.clear(); }

  // ---- A turn.

  // kAborted: this process was suspended for so long that the server may have
  // given the slot to another instance; queued records must be given up.
  // kUnavailable: the server is silent.
  absl::Status Check(MonotonicTime now, BootTime boot_now);
  // kUnavailable: the connection is lost. kDataLoss: the stream is damaged.
  // Else why the consumer must not continue.
  absl::StatusOr<Next> TakeFrames(FrameSource& source);
  // Sends a status update if one is due.
  absl::Status SendStatusIfDue(FrameSource& source);
  // Sends the last one, at the end of a drain.
  absl::Status TellLast(FrameSource& source);

  // The end of the wait after a turn that ended with `next`.
  MonotonicTime WaitUntil(Next next, MonotonicTime now);
  // The consumer may have made progress.
  void OnProgress(MonotonicTime now) {
    if (consumer_.IsDrained()) pacer_.OnAllAcknowledged(now);
  }
  // True if the wait must end now: there is room, or news for the server.
  bool MustWake() const;

  // ---- Its end.

  // Stops reading; once all is done, or at `deadline`, the stream is to end in
  // order (DrainIsOver). The earliest deadline counts.
  void Drain(MonotonicTime deadline);
  bool DrainIsOver(MonotonicTime now) const;
  // Stops at once, without feedback.
  void Abandon() { is_abandoned_ = true; }
  bool is_abandoned() const { return is_abandoned_; }
  // The commit at Start::end was reached.
  bool reached_end() const { return reached_end_; }

  // ---- State.

  // The table that the last connection has stopped before
  // (Options::stops_at_new_tables); empty: none.
  const std::string& new_table() const { return new_table_; }
  // The newest WAL position that the server has reported.
  Lsn server_wal_end() const { return server_wal_end_; }
  const ServerClock& server_clock() const { return server_clock_; }
  const StandbyWait& standby_hold() const { return standby_wait_; }
  // How long the server has not answered; zero between connections.
  std::chrono::milliseconds silence(MonotonicTime now) const;
  // Sum over all connections.
  TransactionAssembler::Skipped skipped() const;

 private:
  absl::StatusOr<Next> TakeSome(FrameSource& source);
  absl::Status HandleWarnings(FrameSource& source);
  absl::Status HandleFrame(std::string_view frame);
  absl::Status HandleMessage(const pgoutput::XLogData& data);
  void HandleKeepalive(const pgoutput::PrimaryKeepalive& keepalive);
  bool IsAtEnd(Lsn lsn) const { return end_.is_valid() && lsn >= end_; }
  void ReachEnd();
  void Deliver();
  absl::Status StopAtNewTable();
  void NoteReceived(MonotonicTime now);
  StatusUpdate Update() const;
  Lsn Confirmable() const;

  Options options_;
  OutboxOptions outbox_;
  std::vector<std::vector<std::string>> references_;
  EventConsumer& consumer_;
  InactivityTimeout silence_;
  // From earlier connections.
  TransactionAssembler::Skipped skipped_before_;
  TransactionAssembler::MappedFields mapped_fields_;
  // Types that were asked for again. A list without them is as complete as it
  // can be: they have been dropped.
  std::set<uint32_t> asked_types_;
  std::set<std::string> asked_columns_;  // likewise, as schema.table.column

  // For the current connection.
  std::optional<TransactionAssembler> assembler_;
  FeedbackSchedule feedback_;
  ProcessSuspendDetector process_suspend_detector_;
  StandbyWait standby_wait_;
  ReadPacer pacer_;
  Lsn slot_;
  Lsn end_;
  Lsn server_wal_end_;
  WallTime sent_;  // the newest frame, by the server
  ServerClock server_clock_;
  Step step_;
  bool step_is_held_ = false;  // the consumer has not taken step_ yet
  ReadPacer::Taken since_receive_;
  ReadPacer::Duration pause_{};
  bool reached_end_ = false;
  bool is_abandoned_ = false;
  std::string new_table_;
  std::optional<MonotonicTime> drain_deadline_;

  bool waits_for_room_ = false;
  MonotonicTime waits_until_{};
};

}  // namespace walpost
