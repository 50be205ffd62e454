#include "delivery/wal_progress.h"

#include <algorithm>

namespace walpost {
namespace {

// A position without an event is the end of what an earlier process has read.
CommitIdentity CommitOf(const EventIdentity& event) {
  if (event.position.ordinal == 0) return {};
  return {event.position.commit_lsn, event.xid, event.commit_time};
}

}  // namespace

void WalProgress::RewindToCheckpoint() {
  sender_.ForgetProgress();
  Forget();
}

void WalProgress::StartOver() {
  sender_.StartOver();
  Forget();
}

void WalProgress::Forget() {
  history_ = WalContinuityCheck();
  floor_ = Lsn();
  divergence_ = absl::OkStatus();
}

void WalProgress::Resume(Lsn confirmed,
                         const EventIdentity& acknowledged_through) {
  const Position& position = acknowledged_through.position;
  if (position.ordinal > 0) {
    sender_.Resume(confirmed.value(), acknowledged_through);
    history_.Know(CommitOf(acknowledged_through));
    floor_ = Lsn();
    return;
  }
  sender_.Resume(confirmed.value(), {position});
  // Events before the checkpoint are acknowledged according to its writer; we
  // take that on trust, without having seen their WAL.
  history_.Trust(position.commit_lsn);
  floor_ = std::max(floor_, position.commit_lsn);
}

bool WalProgress::LacksEvidenceFrom(Lsn from) const {
  return from < floor_ && CommitOf(sender_.window().newest()).lsn < floor_;
}

void WalProgress::BeginStream(Lsn from) {
  const Position begin{from, 0};
  if (from > received()) {
    floor_ = from;
    history_.Trust(from);
    if (IsDrained()) sender_.Resume(from.value(), {begin});
  }
  sender_.AddWatermark(from.value());
  // Records in flight may still be acknowledged, and with them the boundaries
  // before.
  history_.Begin(from, received(), CommitOf(sender_.window().newest()));
  sender_.BeginSequence(begin);
}

EventConsumer::Offer WalProgress::OnEvent(const Event& event,
                                          const absl::Status& mapped) {
  if (!divergence_.ok()) return Offer::kBackpressure;
  if (!sender_.MayTake(event, mapped)) return Offer::kBackpressure;
  divergence_ = history_.OnCommit(CommitOf(event.identity()));
  if (!divergence_.ok()) return Offer::kBackpressure;
  return sender_.Take(event, mapped);
}

void WalProgress::OnTransactionEnd(Lsn end_lsn) {
  sender_.OnTransactionEnd();
  OnKeepalive(end_lsn);
}

void WalProgress::OnKeepalive(Lsn wal_end) {
  if (divergence_.ok()) divergence_ = history_.OnBoundary(wal_end);
  if (divergence_.ok()) sender_.AddWatermark(wal_end.value());
}

Position WalProgress::settled_through() const {
  return std::max(acknowledged_through(), Position{confirmed(), 0});
}

}  // namespace walpost
