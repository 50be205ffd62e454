// WalProgress: hands the events of a WAL stream to a Sender, and decides from
// what becomes of them which LSN may be confirmed.
//
//   source ──OnEvent, OnTransactionEnd, OnKeepalive──▶ WalProgress ──▶ Sender
//   source ◀───────────── confirmable() ────────────── WalProgress ◀── Sender
//
// The source may start over at any LSN up to confirmed(): the Sender recognises
// repeated events, and WalContinuityCheck a WAL that is not the known one. The
// end of a transaction is a watermark of the Sender.
//
// Pure. The Sender outlives it, and has no other source.
#pragma once

#include "absl/status/status.h"
#include "base/lsn.h"
#include "delivery/event_consumer.h"
#include "delivery/sender.h"
#include "delivery/wal_continuity_check.h"
#include "outbox/event.h"

namespace walpost {

class WalProgress final : public EventConsumer {
 public:
  explicit WalProgress(Sender& sender) : sender_(sender) {}

  Sender& sender() { return sender_; }
  const Sender& sender() const { return sender_; }

  // ---- Called by the owner.

  // Forgets acknowledgements that are not in a checkpoint, because their
  // transaction was given up. The owner continues with Resume.
  void RewindToCheckpoint();

  // Also forgets every position: the source's WAL has forked, and continues
  // from the slot's position. The sink and its reports no longer exist.
  void StartOver();

  // Continues from the progress of an earlier process or another instance, as a
  // checkpoint has it. The transaction of the position may be unknown (Xid 0).
  // Requires that nothing is in flight.
  void Resume(Lsn confirmed, const EventIdentity& acknowledged_through);

  // kFailedPrecondition, with the reason code of the gap: that progress cannot
  // be from the WAL that this process has read.
  absl::Status CompareProgress(Lsn confirmed,
                               const CommitIdentity& commit) const {
    return history_.Compare(commit, confirmed);
  }

  // ---- Called by the source.

  // True if a stream from there would show events that this process cannot
  // judge: another instance, or an earlier process, had them before this one
  // came to the slot, and there is no covered event that could prove that they
  // are the same. Then call StartOver first; they are sent again.
  bool LacksEvidenceFrom(Lsn from) const;

  // A stream begins that has every commit at `from` or later; at most at the
  // slot's position, so that known events are seen again (WalContinuityCheck).
  // If the slot has moved past all known events, whoever moved it had
  // acknowledged what lies before. Requires evidence.
  void BeginStream(Lsn from);

  bool CanTake() const override {
    return divergence_.ok() && sender_.CanTake();
  }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override;
  void OnTransactionEnd(Lsn end_lsn) override;
  void OnKeepalive(Lsn wal_end) override;
  Lsn confirmable() const override {
    return is_history_settled() ? confirmed() : Lsn();
  }
  bool IsDrained() const override { return sender_.IsDrained(); }
  // The WAL is not the known one: nothing further is taken, and the stream must
  // stop. kFailedPrecondition, with the reason code of the gap.
  absl::Status Health() const override { return divergence_; }

  // ---- State.

  // LSN to confirm to Postgres, once the history is settled; 0/0 until the
  // first end of a transaction is passed.
  Lsn confirmed() const { return Lsn(sender_.window().passed_watermark()); }
  // Everything before this LSN was handed in.
  Lsn received() const { return Lsn(sender_.window().newest_watermark()); }
  // True if the current stream has shown all events known from before. Until
  // then only the slot's own position is confirmed to the server.
  bool is_history_settled() const { return history_.is_settled(); }
  // The newest event up to which, inclusive, all are in Kafka.
  const EventIdentity& acknowledged() const {
    return sender_.window().acknowledged();
  }
  const Position& acknowledged_through() const {
    return acknowledged().position;
  }
  // All events at or before it are in Kafka, or set aside. A parked event must
  // not be sent before: an earlier one of its key may be in flight.
  Position settled_through() const;

 private:
  void Forget();

  Sender& sender_;
  WalContinuityCheck history_;
  // The slot's position when this process came to it, or the writer of a
  // checkpoint without an event: earlier events are not known otherwise. 0/0: a
  // checkpoint knows them.
  Lsn floor_;
  absl::Status divergence_;
};

}  // namespace walpost
