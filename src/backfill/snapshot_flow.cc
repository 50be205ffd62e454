#include "backfill/snapshot_flow.h"

#include <string>

#include "base/sqlstate.h"

namespace walpost {
namespace {

// An error about names or rights: another attempt fails, too.
bool IsAboutSchema(const absl::Status& status) {
  const std::string sqlstate = SqlstateOf(status);
  return sqlstate.empty() ? !absl::IsDeadlineExceeded(status)
                          : sqlstate.starts_with("42");
}

}  // namespace

void SnapshotFlow::Begin() {
  status_ = absl::OkStatus();
  next_ = is_done_ ? Do::kReturn : Do::kOpen;
  if (is_stopped_ && !is_done_) EndAttempt(absl::OkStatus());
}

// A slot that is missing, or should exist, is reported by the stream.
void SnapshotFlow::OnOpened(SlotHistory history, bool has_new_tables) {
  is_lost_ = false;
  const bool is_through = history == SlotHistory::kUsed && !has_new_tables;
  is_done_ = history == SlotHistory::kMissing || is_through ||
             (history == SlotHistory::kNone && !options_.may_make_slot);
  if (is_done_) return EndAttempt(absl::OkStatus());
  next_ = all_sent_ ? Do::kRecord : Do::kBegin;
  if (is_stopped_) EndAttempt(absl::OkStatus());
}

void SnapshotFlow::OnBegun(Shows shows) {
  shows_ = shows;
  On(absl::OkStatus());
}

void SnapshotFlow::On(const absl::Status& status) {
  if (next_ == Do::kRecord) return OnRecorded(status);
  const bool goes_on = !is_stopped_ || next_ == Do::kEndTransaction;
  if (!goes_on) return EndAttempt(status);
  if (status.ok()) return GoOn();
  if (is_publishing_ && next_ != Do::kEndTransaction) {
    OnRowsFailed(status);
  } else if (next_ == Do::kReplaceSink) {
    Return(status);
  } else {
    EndAttempt(status);
  }
}

void SnapshotFlow::GoOn() {
  const bool leaves_rows_to_stream =
      options_.has_ledger && shows_ == Shows::kPresent;
  switch (next_) {
    case Do::kBegin:
      next_ = Do::kPrepare;
      return;
    case Do::kPrepare:
      next_ = leaves_rows_to_stream ? Do::kSurvey : Do::kReadOnRecord;
      return;
    case Do::kSurvey:
      next_ = Do::kReadOnRecord;
      return;
    case Do::kReadOnRecord:
    case Do::kPublish:
      is_publishing_ = true;
      is_blocked_ = false;
      next_ = Do::kPublish;
      return;
    // The next producer fences all others: only with the lock.
    case Do::kAwaitSink:
      next_ = options_.has_ledger ? Do::kCheckLock : Do::kReplaceSink;
      return;
    case Do::kCheckLock:
    case Do::kAwaitOperator:
      next_ = Do::kReplaceSink;
      return;
    case Do::kReplaceSink:
      next_ = is_publishing_ ? Do::kPublish : Do::kOpen;
      return;
    case Do::kEndTransaction:
      next_ = Do::kRecord;
      return;
    case Do::kOpen:
    case Do::kRecord:
    case Do::kReturn:
      return;
  }
}

void SnapshotFlow::OnPublished(const absl::Status& status, bool is_blocked,
                               bool sink_failed) {
  is_blocked_ = is_blocked;
  if (status.ok()) {
    all_sent_ = true;
    next_ = Do::kEndTransaction;
  } else if (is_stopped_ || is_blocked || !sink_failed) {
    OnRowsFailed(status);
  } else {
    next_ = Do::kAwaitSink;
  }
}

void SnapshotFlow::OnRowsFailed(const absl::Status& status) {
  const bool may_pass = is_lost_ || !IsAboutSchema(status);
  EndAttempt(may_pass ? absl::UnavailableError(status.message()) : status);
}

// All rows are in Kafka: a failure from here on must not repeat them, unless
// the slot is another one.
void SnapshotFlow::OnRecorded(const absl::Status& status) {
  if (absl::IsAborted(status)) all_sent_ = false;
  if (absl::IsAborted(status) || absl::IsUnavailable(status)) {
    return EndAttempt(absl::UnavailableError(status.message()));
  }
  is_done_ = true;
  EndAttempt(absl::OkStatus());
}

// A row that cannot be delivered stops the snapshot until an operator has
// deleted or corrected it, whatever the next attempts come to.
void SnapshotFlow::EndAttempt(const absl::Status& status) {
  is_publishing_ = false;
  if (is_blocked_ && !is_done_ && !is_stopped_) {
    next_ = Do::kAwaitOperator;
  } else {
    Return(status);
  }
}

void SnapshotFlow::Return(const absl::Status& status) {
  next_ = Do::kReturn;
  if (is_done_) {
    status_ = absl::OkStatus();
  } else if (is_stopped_) {
    status_ = absl::CancelledError("told to end");
  } else {
    status_ = status;
  }
}

}  // namespace walpost
