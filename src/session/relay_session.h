// RelaySession: decides the life of a relay, from its start to its end.
//
//   producer ─▶ prepare ─▶ checkpoint ─▶ open ─▶ take over ─▶ stream
//      ▲                                                         │
//      ├── wait ◀── it is lost ──────────────────────────────────┤
//      ├── wait ◀── keep it ◀── a gap ───────────────────────────┤
//      ├── wait ◀── rewind ◀── close it ◀── the producer failed ─┤
//      └── wait ◀── start over ◀── close it ◀── LSNs are void ───┤
//                   end ◀── close it ◀── asked to stop ──────────┘
//
// A producer with transactions can write for one stream only: records that it
// has not committed are void when it is closed, and the checkpoint says how to
// continue. It is made after the checkpoint was read, because its id has the
// name of the system.
//
// The owner carries out one action after the other, and passes each result to
// Next:
//
//   RelaySession::Action action = session.Begin();
//   while (action.what != Do::kEnd) {
//     const absl::Status result = ...;  // carries it out
//     action = session.Next(result, now);
//   }
//
// Facts may come at any time in between. They may end a stream (WalStream
// knows) or a wait; the owner wakes it up.
//
// The app's Relay is one owner, the simulation another. Pure: the caller passes
// the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "base/time.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/continuity_state.h"
#include "checkpoint/pause_gate.h"
#include "delivery/gap.h"
#include "delivery/wal_progress.h"
#include "session/repeated_failure_detector.h"
#include "session/wal_stream.h"

namespace walpost {

class RelaySession {
 public:
  enum class Do {
    kStartProducer,
    kPrepare,         // what precedes the first stream: an initial snapshot
    kLoadCheckpoint,  // from the store, if there is one
    kOpen,            // connect, check, and begin to stream
    kTakeOver,        // from whoever had the slot before: nobody else has it
    kStream,          // until the stream has ended
    kKeepGap,         // store ContinuityState::gap
    kCloseProducer,   // at the latest at `until`
    kWait,            // until `until`, or a shutdown
    kEnd,             // with `reason`
  };
  struct Action {
    Do what = Do::kEnd;
    MonotonicTime until{};
    // The reason to close, wait or end.
    absl::Status reason = {};
    // kWait: the attempt failed, and there will be another.
    bool is_retry = false;
    // kCloseProducer: only the end follows.
    bool is_last = false;
  };

  enum class Producing { kSingly, kInTransactions };

  // All arguments outlive this object. `seed` is for the random waits.
  RelaySession(Producing producing, std::chrono::milliseconds shutdown_timeout,
               WalProgress& progress, const CheckpointWriter& checkpoints,
               ContinuityState& continuity, PauseGate& pause_gate,
               WalStream& stream, uint64_t seed);

  Action Begin();
  // The last action has ended with `result`.
  Action Next(const absl::Status& result, MonotonicTime now);

  // ---- Facts.

  // Begins to drain and confirm; the session ends by shutdown_deadline().
  void Shutdown(MonotonicTime now);
  // The server asks its clients to disconnect; it waits for them.
  void OnServerShutdown(MonotonicTime now);
  // A gap was found beside the stream, which stops.
  void OnGap(const Gap& gap);
  // Something that the stream needs is lost; stops the stream.
  void OnLost(const absl::Status& reason);
  // The record of a pause was read; nullopt: there is none. Records in flight
  // are still acknowledged, and a part of a source transaction that must be
  // whole is given up. True: it has changed whether events may go; wake the
  // stream.
  bool OnPauseRecord(const std::optional<PauseRecord>& record);
  // Records have reached consumers: they were acknowledged, or, with
  // transactions, committed.
  void OnDelivered() { OnProgress(); }
  // Call it a few times a second: offers held records again.
  void Watch(MonotonicTime now);
  // The producer or the checkpoint store has reported; ends a stream that
  // cannot continue.
  void OnReports();

  // ---- State.

  const std::optional<MonotonicTime>& shutdown_deadline() const {
    return shutdown_deadline_;
  }
  // Somebody waits for the end of the stream: checkpoints are due at once.
  bool is_hurried() const { return shutdown_deadline_ || server_leaves_; }
  // Why the last stream ended, while there is no new stream; else ok. If the
  // error may come back, a new stream alone does not clear it: something must
  // be delivered first, or the stream must last.
  const absl::Status& trouble() const { return trouble_; }
  // True if the stream has ended with its producer for an expected reason: a
  // rejected record, or a planned replacement. It continues within moments, and
  // nothing is wrong until then.
  bool is_resuming(MonotonicTime now) const {
    return resuming_since_ && now - *resuming_since_ <= kResumeLimit;
  }
  // Says whether each attempt fails in the same way, so that an operator must
  // act.
  const RepeatedFailureDetector& poison() const { return poison_; }
  bool has_streamed() const { return streams_ > 0; }
  // Makes this relay continue as if it had streamed itself, because an earlier
  // relay of this process has.
  void Continue() { continues_ = true; }
  uint64_t streams() const { return streams_; }
  bool has_found_gap() const { return found_gap_.has_value(); }
  // True once, after every position was forgotten.
  bool TakeReset() { return std::exchange(started_over_, false); }

 private:
  static constexpr std::chrono::seconds kResumeLimit{8};

  Action Enter(Do what);
  Action BeginRound(MonotonicTime now);
  Action OnOpened();
  Action OnTakenOver(MonotonicTime now);
  Action OnStreamEnded(absl::Status reason, MonotonicTime now);
  Action EndAttempt(absl::Status reason, MonotonicTime now);
  Action GiveUpProducer(MonotonicTime now);
  Action OnProducerClosed(MonotonicTime now);
  std::optional<absl::Status> FailureOfProducer() const;
  Action Wait(MonotonicTime now);
  Action Close(absl::Status reason, MonotonicTime now);
  bool IsPermanentConfigError(const absl::Status& status) const;
  Action Resume(MonotonicTime now);
  void OnFailure(const absl::Status& failure);
  void OnProgress();

  bool in_transactions() const {
    return producing_ == Producing::kInTransactions;
  }

  // LSN after which the next stream begins, if this one fails.
  Lsn progress() const {
    return in_transactions() ? checkpoints_.confirmable()
                             : progress_.confirmed();
  }

  Producing producing_;
  std::chrono::milliseconds shutdown_timeout_;
  WalProgress& progress_;
  Sender& sender_;
  const CheckpointWriter& checkpoints_;
  ContinuityState& continuity_;
  PauseGate& pause_gate_;
  WalStream& stream_;

  Do doing_ = Do::kEnd;
  bool has_producer_ = false;
  bool is_spent_ = false;     // the producer has had its stream
  bool was_healthy_ = false;  // when it was given up
  bool is_last_ = false;      // what is being closed
  absl::Status reason_;
  MonotonicTime streams_since_{};
  // How far rejections have been dealt with, when the last producer was
  // replaced for one.
  struct Mark {
    uint64_t rejections = 0;
    bool is_careful = false;
    Position acknowledged;

    friend bool operator==(const Mark&, const Mark&) = default;
  };
  Mark mark_;
  std::optional<MonotonicTime> resuming_since_;
  bool has_failed_ = false;     // a producer, before anything was delivered
  bool may_come_back_ = false;  // what made it fail

  std::optional<MonotonicTime> shutdown_deadline_;
  bool server_leaves_ = false;
  std::optional<Gap> found_gap_;
  bool gap_is_new_ = false;
  absl::Status lost_;
  bool started_over_ = false;
  uint64_t streams_ = 0;
  bool continues_ = false;
  absl::Status trouble_;
  RepeatedFailureDetector poison_;
  Backoff backoff_;
};

}  // namespace walpost
