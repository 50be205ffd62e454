// WalContinuityCheck: is the WAL that is streamed now the known one?
//
// A server that was restored from a volume snapshot has the same system
// identifier, timeline and slot as before, and writers soon carry its WAL past
// every LSN that we know. Only the contents differ. So the stream begins where
// the slot stands, which on a restored server is before the lost WAL, and the
// known events have to come again:
//
//   slot stands      newest commit known       received
//   ────┼──────────────────┼───────────────────────┼───────▶ stream
//        repeats, skipped  │ no event belongs here │ new events
//                          └ same LSN, transaction id and commit time
//
// After a producer was lost, the skipped events end before the newest known
// commit. Then the commit where they end must also reappear, before anything
// behind it is sent.
//
// The WAL has forked (P9) if a commit does not reappear, if another one is in
// its place, or if an unknown event comes before the received LSN: the reason
// code is that of the gap. Until the stream has passed all known events,
// nothing further may be confirmed, because the server would drop the WAL that
// it has in their place.
//
// Two WALs that agree on a commit record's LSN, transaction and time agree on
// all before it. The commit times of PostgreSQL have microseconds.
//
// Owned by WalProgress. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "base/time.h"
#include "base/xid.h"

namespace walpost {

// Transaction that committed at an LSN. Xid 0: not known (checkpoint of an
// older release); then only the LSN has to match.
struct CommitIdentity {
  Lsn lsn;
  Xid xid;
  WallTime time{};

  friend bool operator==(const CommitIdentity&,
                         const CommitIdentity&) = default;
};

class WalContinuityCheck {
 public:
  // An earlier commit with events, from this process or a checkpoint; the
  // newest one counts.
  void Know(const CommitIdentity& commit);
  bool knows_any() const { return newest_.lsn.is_valid(); }

  // Another instance has read all before `read`; `commit`: the newest with
  // events there, or an LSN from which on it had none. kFailedPrecondition, as
  // above: the two cannot have read the same WAL.
  absl::Status Compare(const CommitIdentity& commit, Lsn read) const;

  // Commits before `lsn` count as known, whatever they are: there is no record
  // of them.
  void Trust(Lsn lsn);

  // A stream begins: it has every commit at `from` or later. All events before
  // `received` were handed in before, and those up to `covered` are skipped (no
  // LSN: none is, or that commit is not known). Nothing is checked before this
  // call.
  void Begin(Lsn from, Lsn received, const CommitIdentity& covered);

  // The commit of the next event of the stream. kFailedPrecondition: the WAL
  // has forked; names what does not match.
  absl::Status OnCommit(const CommitIdentity& commit);

  // The stream has handed in all commits before `lsn`. Returns the same.
  absl::Status OnBoundary(Lsn lsn);

  // True if the stream has passed all known events.
  bool is_settled() const { return is_settled_; }

 private:
  void Expect(const CommitIdentity& commit);
  absl::Status CheckKnown(Lsn commit_lsn) const;
  absl::Status Missing(const std::string& found) const;

  CommitIdentity newest_;
  // Commits that must still reappear, in order; at most two.
  std::vector<CommitIdentity> expected_;
  Lsn from_;
  Lsn trusted_;  // before it, every commit counts as known
  Lsn received_;
  Lsn covered_;
  bool has_begun_ = false;
  bool is_settled_ = true;
};

}  // namespace walpost
