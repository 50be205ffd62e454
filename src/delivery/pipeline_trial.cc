// Pipeline: records that go alone, after a rejection.
//
//   event ──▶ record alone, event held ──▶ accepted: taken ──▶ the next one
//                     ▲                └─▶ rejected: withdrawn, set aside
//                     └── batches again ◀── 50 accepted in a row
#include "delivery/pipeline.h"

namespace walpost {

bool Pipeline::TriesAlone() const {
  using After = RecordSink::AfterRejection;
  if (!tries_alone_ || !dispatch_.has_sink()) return false;
  const After after = dispatch_.sink()->after_rejection();
  return after == After::kGoesOnAlone ||
         (after == After::kGoesOn && is_careful_);
}

// A rejection gives up the whole transaction of the sink. Within one of the
// source that is to be whole, nothing can be committed before.
bool Pipeline::MustCommitFirst() const {
  const bool may_commit = !commits_whole_ || is_between_transactions_;
  return awaits_commits_ && uncommitted_records_ > 0 && may_commit &&
         TriesAlone();
}

bool Pipeline::MayWithdraw(Sequence sequence) const {
  const bool is_alone = !awaits_commits_ || uncommitted_records_ == 1;
  return trial_ && trial_->sequence == sequence && trial_->is_held &&
         is_alone && !sink_failure_ && TriesAlone();
}

// The stream offers the event again.
void Pipeline::Withdraw(Sequence sequence) {
  window_.Withdraw(sequence);
  trial_.reset();
  uncommitted_records_ = 0;
  if (on_withdrawn_) on_withdrawn_();
}

// Then it is set aside.
void Pipeline::OnRejectedAlone(const InFlightRecord& record,
                               const absl::Status& error) {
  refused_ = {record.position, error, record.is_dead_letter()};
  ++rejections_;
  suspects_.Clear(record.position);
  is_careful_ = true;
  accepted_alone_ = 0;
  Withdraw(trial_->sequence);
  dispatch_.sink()->Withdraw();
}

void Pipeline::OnTriedWell(Sequence sequence) {
  if (!trial_ || trial_->sequence != sequence) return;
  if (++accepted_alone_ < kMinAcceptedAlone || !suspects_.empty()) return;
  is_careful_ = false;
  if (!sink_failure_) {
    sink_failure_ = absl::CancelledError("records go in batches again");
  }
}

// The brokers have accepted the record of the event that the stream has held.
bool Pipeline::IsTried(const Event& event) {
  if (!trial_ || trial_->position != event.position || trial_is_open()) {
    return false;
  }
  trial_.reset();
  ++counters_.events;
  return true;
}

}  // namespace walpost
