#include "backfill/replay_flow.h"

namespace walpost {

ReplayFlow::Do ReplayFlow::Next(MonotonicTime now) {
  if (next_ == Do::kWait) Await(now);
  return next_;
}

void ReplayFlow::OnOpened(const ReplayRange& range) {
  next_ = is_open_ ? Do::kStartSink : Do::kReadOnRecord;
  if (!is_open_) range_ = range;
  is_open_ = true;
}

void ReplayFlow::On(const absl::Status& status) {
  if (next_ == Do::kCloseSink) return OnSinkClosed();
  if (!status.ok()) return End(status);
  switch (next_) {
    case Do::kReadOnRecord:
      next_ = Do::kBegin;
      return;
    case Do::kBegin:
      next_ = Do::kStartSink;
      return;
    case Do::kStartSink:
      next_ = Do::kStream;
      return;
    case Do::kOpen:
    case Do::kStream:
    case Do::kWait:
    case Do::kCloseSink:
    case Do::kEnd:
      return;
  }
}

void ReplayFlow::OnStreamed(const absl::Status& status, bool reached_end) {
  reached_end_ = reached_end;
  next_ = Do::kWait;
  if (!status.ok()) EndRound(status);
}

void ReplayFlow::Await(MonotonicTime now) {
  if (backfill_.IsDrained()) return End(absl::OkStatus());
  const absl::Status health = backfill_.Health();
  if (!health.ok()) return EndRound(health);
  if (stop_deadline_ && now > *stop_deadline_) End(absl::OkStatus());
}

// The last reports of a sink say which records the brokers reject.
void ReplayFlow::EndRound(const absl::Status& status) {
  End(status);
  if (backfill_.sink_failed()) next_ = Do::kCloseSink;
}

void ReplayFlow::OnSinkClosed() {
  next_ = Do::kEnd;
  if (stop_deadline_ || !backfill_.has_rejected_events()) return;
  if (!rounds_.MayBegin(backfill_.handled())) return;
  backfill_.Continue();
  request_ = ReplayRequest();
  request_.from = backfill_.resume();
  request_.to = range_.to;
  reached_end_ = false;
  next_ = Do::kOpen;
}

void ReplayFlow::End(const absl::Status& status) {
  next_ = Do::kEnd;
  status_ = status.ok() && !reached_end_ ? server_trouble_ : status;
}

}  // namespace walpost
