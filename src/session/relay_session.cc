#include "session/relay_session.h"

#include <algorithm>
#include <utility>

#include "base/error_source.h"
#include "base/reason_code.h"
#include "base/sqlstate.h"

namespace walpost {

using std::chrono::milliseconds;

namespace {

// How long a fast shutdown of the server waits for Kafka at most.
constexpr milliseconds kServerShutdownGrace{2000};
// A stream that lasted longer resets the series of failures.
constexpr milliseconds kSettledAfter{10'000};
// Time for requests that are on their way when a producer is given up.
constexpr milliseconds kProducerGrace{2000};
// Interval for checking whether an operator has resolved a gap.
constexpr milliseconds kGapInterval{2000};
// Interval at which a standby tries to get the slot.
constexpr milliseconds kStandbyInterval{500};

// The producer is replaced because it was to be: for a record that the brokers
// reject, which is set aside or stops the flow, or to make one of another kind.
bool IsExpected(const absl::Status& failure) {
  return absl::IsInvalidArgument(failure) || absl::IsCancelled(failure);
}

}  // namespace

RelaySession::RelaySession(Producing producing, milliseconds shutdown_timeout,
                           WalProgress& progress,
                           const CheckpointWriter& checkpoints,
                           ContinuityState& continuity, PauseGate& pause_gate,
                           WalStream& stream, uint64_t seed)
    : producing_(producing),
      shutdown_timeout_(shutdown_timeout),
      progress_(progress),
      sender_(progress.sender()),
      checkpoints_(checkpoints),
      continuity_(continuity),
      pause_gate_(pause_gate),
      stream_(stream),
      backoff_(Backoff::Options{}, seed) {}

RelaySession::Action RelaySession::Enter(Do what) {
  doing_ = what;
  Action action;
  action.what = what;
  return action;
}

RelaySession::Action RelaySession::Begin() {
  return Enter(in_transactions() ? Do::kPrepare : Do::kStartProducer);
}

RelaySession::Action RelaySession::Next(const absl::Status& result,
                                        MonotonicTime now) {
  switch (doing_) {
    case Do::kStartProducer:
      has_producer_ = result.ok();
      if (!result.ok()) return EndAttempt(result, now);
      return Enter(in_transactions() ? Do::kOpen : Do::kPrepare);
    case Do::kPrepare:
      return result.ok() ? Enter(Do::kLoadCheckpoint) : EndAttempt(result, now);
    case Do::kLoadCheckpoint:
      if (!result.ok()) return EndAttempt(result, now);
      return Enter(has_producer_ ? Do::kOpen : Do::kStartProducer);
    case Do::kOpen:
      if (!result.ok()) return EndAttempt(result, now);
      // Shutting down: do not fence another instance's producer.
      if (in_transactions() && shutdown_deadline_) {
        return EndAttempt(result, now);
      }
      return OnOpened();
    case Do::kTakeOver:
      return result.ok() ? OnTakenOver(now) : EndAttempt(result, now);
    case Do::kStream:
      return OnStreamEnded(result, now);
    case Do::kKeepGap:
      return GiveUpProducer(now);
    case Do::kCloseProducer:
      return OnProducerClosed(now);
    case Do::kWait:
      return BeginRound(now);
    case Do::kEnd:
      break;
  }
  return Enter(Do::kEnd);
}

RelaySession::Action RelaySession::BeginRound(MonotonicTime now) {
  // A new gap is recorded by this round's look at the source.
  const bool records_gap = std::exchange(gap_is_new_, false);
  if (shutdown_deadline_ && !records_gap) return Close(absl::OkStatus(), now);
  const bool can_prepare = has_producer_ || in_transactions();
  return Enter(can_prepare ? Do::kPrepare : Do::kStartProducer);
}

RelaySession::Action RelaySession::OnOpened() {
  found_gap_.reset();
  lost_ = absl::OkStatus();
  server_leaves_ = false;
  is_spent_ = in_transactions();
  return Enter(Do::kTakeOver);
}

RelaySession::Action RelaySession::OnTakenOver(MonotonicTime now) {
  if (!may_come_back_) trouble_ = absl::OkStatus();
  resuming_since_.reset();
  ++streams_;
  streams_since_ = now;
  if (shutdown_deadline_) stream_.Drain(*shutdown_deadline_);
  return Enter(Do::kStream);
}

RelaySession::Action RelaySession::OnStreamEnded(absl::Status reason,
                                                 MonotonicTime now) {
  if (now - streams_since_ > kSettledAfter) OnProgress();
  if (sender_.sink_failure()) resuming_since_ = now;
  if (!lost_.ok()) reason = lost_;
  if (checkpoints_.must_end()) reason = checkpoints_.status();
  if (found_gap_) reason = StatusOfGap(*found_gap_);
  if (absl::IsDataLoss(reason)) {
    poison_.OnFailure(reason, progress());
  }
  return EndAttempt(std::move(reason), now);
}

// The stream has ended. Decides whether to close, hold a gap, or reconnect.
RelaySession::Action RelaySession::EndAttempt(absl::Status reason,
                                              MonotonicTime now) {
  const bool has_new_gap = GapOf(reason) && !continuity_.gap();
  if (shutdown_deadline_ && !has_new_gap) return Close(absl::OkStatus(), now);
  if (IsPermanentConfigError(reason)) return Close(std::move(reason), now);
  if (sender_.sink_failure() && !GapOf(reason)) {
    reason = FromKafka(*sender_.sink_failure());
  }
  reason_ = std::move(reason);
  const std::optional<Gap> gap = GapOf(reason_);
  if (!gap) return GiveUpProducer(now);
  // From now on nothing is streamed until an operator acts; after a restart,
  // too, if the gap can be stored.
  gap_is_new_ = !continuity_.gap();
  continuity_.Latch(*gap);
  return Enter(Do::kKeepGap);
}

// Before the first stream, an error that an operator must fix stops the
// process. A gap does not: somebody has to look at it.
bool RelaySession::IsPermanentConfigError(const absl::Status& status) const {
  return !has_streamed() && !continues_ && ReasonCodeOf(status).empty() &&
         (absl::IsFailedPrecondition(status) ||
          absl::IsInvalidArgument(status));
}

// After a failure of the producer, records on their way may still arrive. If
// the source has to start over, they must not.
RelaySession::Action RelaySession::GiveUpProducer(MonotonicTime now) {
  was_healthy_ = !sender_.sink_failure();
  if (was_healthy_ && !is_spent_ && !absl::IsAborted(reason_)) return Wait(now);
  Action action = Enter(Do::kCloseProducer);
  action.until = was_healthy_ ? now : now + kProducerGrace;
  action.reason = reason_;
  return action;
}

RelaySession::Action RelaySession::OnProducerClosed(MonotonicTime now) {
  has_producer_ = false;
  is_spent_ = false;
  if (is_last_) {
    Action action = Enter(Do::kEnd);
    if (!shutdown_deadline_) action.reason = reason_;
    return action;
  }
  const std::optional<absl::Status> failure = FailureOfProducer();
  if (failure && !GapOf(reason_)) reason_ = FromKafka(*failure);
  if (failure) OnFailure(*failure);
  const bool is_expected = failure && IsExpected(reason_);
  if (!is_expected) poison_.OnFailure(reason_, progress());
  if (continuity_.TakeStartOver()) {
    progress_.StartOver();
    stream_.Forget();
    started_over_ = true;
  } else if (in_transactions()) {
    progress_.RewindToCheckpoint();
  } else {
    sender_.Rewind();
  }
  return is_expected ? Resume(now) : Wait(now);
}

// Its last reports say whether a record was the cause. What they say of records
// that a healthy producer still had comes of closing it.
std::optional<absl::Status> RelaySession::FailureOfProducer() const {
  const std::optional<absl::Status>& failure = sender_.sink_failure();
  if (was_healthy_ && failure && !IsExpected(*failure)) return std::nullopt;
  return failure;
}

// Without a wait, unless nothing has come of the last one.
RelaySession::Action RelaySession::Resume(MonotonicTime now) {
  const Mark mark{sender_.rejections(), sender_.is_careful(),
                  progress_.acknowledged_through()};
  const bool has_moved = std::exchange(mark_, mark) != mark;
  Action action = Enter(Do::kWait);
  action.until = has_moved ? now : now + backoff_.Next();
  action.reason = reason_;
  return action;
}

RelaySession::Action RelaySession::Wait(MonotonicTime now) {
  if (shutdown_deadline_) return BeginRound(now);
  resuming_since_.reset();
  Action action = Enter(Do::kWait);
  action.until = now;
  action.reason = reason_;
  if (reason_.ok()) return action;
  trouble_ = reason_;
  if (poison_.is_poison() ||
      ReasonCodeOf(reason_) == kReasonTransactionTooLarge) {
    action.until = MonotonicTime::max();
  } else if (GapOf(reason_)) {
    // A new gap is recorded at once.
    if (!gap_is_new_) action.until += kGapInterval;
  } else if (SqlstateOf(reason_) == kSqlstateObjectInUse) {
    action.until += kStandbyInterval;
  } else {
    action.until += backoff_.Next();
    action.is_retry = true;
  }
  return action;
}

RelaySession::Action RelaySession::Close(absl::Status reason,
                                         MonotonicTime now) {
  is_last_ = true;
  reason_ = std::move(reason);
  Action action = Enter(Do::kCloseProducer);
  action.is_last = true;
  action.until = now + kProducerGrace;
  if (shutdown_deadline_) {
    action.until = std::min(action.until, *shutdown_deadline_);
  }
  return action;
}

void RelaySession::Shutdown(MonotonicTime now) {
  if (shutdown_deadline_) return;
  shutdown_deadline_ = now + shutdown_timeout_;
  stream_.Drain(*shutdown_deadline_);
}

void RelaySession::OnServerShutdown(MonotonicTime now) {
  if (!stream_.is_open()) return;
  server_leaves_ = true;
  stream_.Drain(now + kServerShutdownGrace);
}

void RelaySession::OnGap(const Gap& gap) {
  if (!stream_.is_open() || found_gap_) return;
  found_gap_ = gap;
  stream_.Abandon();
}

void RelaySession::OnLost(const absl::Status& reason) {
  if (!stream_.is_open() || !lost_.ok()) return;
  lost_ = reason;
  stream_.Abandon();
}

// An open transaction of the sink would hide the records of all others for as
// long as the pause lasts.
bool RelaySession::OnPauseRecord(const std::optional<PauseRecord>& record) {
  const bool has_changed = pause_gate_.Observe(record);
  if (pause_gate_.is_paused() && sender_.IsInsideWholeTransaction()) {
    sender_.OnSinkFailed(absl::CancelledError(
        "paused within a transaction of the source, which Kafka gets whole"));
    OnReports();
  }
  return has_changed;
}

// Most failures are over with the producer; not if an operator must act, or if
// the last one came to nothing, too.
void RelaySession::OnFailure(const absl::Status& failure) {
  if (IsExpected(failure)) return;
  may_come_back_ = has_failed_ || absl::IsFailedPrecondition(failure);
  has_failed_ = true;
}

// The stream has made progress: clears earlier failures, resets the backoff.
void RelaySession::OnProgress() {
  backoff_.Reset();
  has_failed_ = may_come_back_ = false;
  if (doing_ == Do::kStream) trouble_ = absl::OkStatus();
}

void RelaySession::Watch(MonotonicTime now) {
  const bool lasts = now - streams_since_ > kSettledAfter;
  if (doing_ == Do::kStream && lasts) OnProgress();
  if (sender_.held()) sender_.RetryHeld();
  OnReports();
}

void RelaySession::OnReports() {
  if (sender_.sink_failure() || checkpoints_.must_end()) {
    stream_.Abandon();
  }
}

}  // namespace walpost
