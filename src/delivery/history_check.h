// HistoryCheck: is the WAL that is streamed now the one that we know?
//
// A server that was restored from a volume snapshot has the same system
// identifier, the same timeline and the same slot as before, and writers soon
// carry its WAL past every LSN that we know. Only what it holds there differs.
// So the stream begins where the slot stands, which on a restored server is
// before what was lost, and what we know has to come again:
//
//   slot stands      newest commit known       received
//   ────┼──────────────────┼───────────────────────┼───────▶ stream
//        repeats, passed over │  no event belongs here │ new events
//                          └ same LSN, transaction id and commit time
//
// Where a producer was lost, what is passed over ends before the newest commit
// that is known; then the commit where it ends has to reappear, too, before
// anything behind it goes out.
//
// A commit that does not reappear, another one in its place, or an event that
// nobody knows before what was received: the WAL has forked (P9). Until the
// stream has passed all of it, nothing further may be confirmed: the server
// would believe it, and drop what it has there instead.
//
// Two WALs that agree on a commit record's LSN, transaction and time agree on
// all before it. The commit times of PostgreSQL have microseconds.
//
// Owned by the Pipeline. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "base/time.h"
#include "base/xid.h"

namespace walpost {

// Which transaction committed at an LSN. Xid 0: not known, as of a checkpoint
// that an older release wrote; then the LSN alone has to match.
struct CommitIdentity {
  Lsn lsn;
  Xid xid;
  WallTime time{};

  friend bool operator==(const CommitIdentity&,
                         const CommitIdentity&) = default;
};

class HistoryCheck {
 public:
  // A commit with events that came before, in this process or as a checkpoint
  // says; the newest one counts.
  void Know(const CommitIdentity& commit);
  bool knows_any() const { return newest_.lsn.is_valid(); }

  // What commits before `lsn` counts as known, whatever it is: nothing says
  // which commits there were.
  void Trust(Lsn lsn);

  // A stream begins: it has every commit at `from` or later. All events before
  // `received` were handed in before, and those up to `covered` are passed over
  // (no LSN: none is, or it is not known which commit that was). Without it
  // nothing is checked.
  void Begin(Lsn from, Lsn received, const CommitIdentity& covered);

  // The commit of the next event of the stream. kFailedPrecondition, with the
  // reason code of the gap: the WAL has forked; names what does not match.
  absl::Status OnCommit(const CommitIdentity& commit);

  // The stream has handed in all that commits before `lsn`. Likewise.
  absl::Status OnBoundary(Lsn lsn);

  // Whether the stream has passed all that is known.
  bool is_settled() const { return is_settled_; }

 private:
  void Expect(const CommitIdentity& commit);
  absl::Status Missing(const std::string& found) const;

  CommitIdentity newest_;
  // Those that have to reappear yet, the earlier one first; at most two.
  std::vector<CommitIdentity> expected_;
  Lsn from_;
  Lsn trusted_;  // before it, no commit is unknown
  Lsn received_;
  bool has_begun_ = false;
  bool is_settled_ = true;
};

}  // namespace walpost
