// XminHorizon: a transaction id before which everything is delivered.
//
// Ids are assigned when a transaction first writes, not when it commits: a row
// with a low id may be committed, and so delivered, long after one with a high
// id. But at a moment when the WAL ends at L, every transaction before
// pg_snapshot_xmin has ended, so its commit record lies before L:
//
//   id      all have ended │ some run yet │ not begun
//                          └ pg_snapshot_xmin: the horizon
//   WAL     all their commits │ what is still to come
//                             └ L
//
// Once everything up to L is acknowledged, it is a horizon
// (XminHorizonTracker).
//
// It is valid on the server that assigned the ids. A server restored from a
// backup assigns them a second time, with the same system identifier and maybe
// on the same timeline; but a restore involves a restart of the server. So the
// server's start time belongs to the horizon, and after a restart there is none
// until a new one is taken.
#pragma once

#include <cstdint>

#include "base/lsn.h"
#include "base/time.h"

namespace walpost {

struct XminHorizon {
  uint64_t transaction_id = 0;  // an xid8; 0: not known
  WallTime server_started_at{};

  bool is_known() const { return transaction_id != 0; }

  friend bool operator==(const XminHorizon&, const XminHorizon&) = default;
};

// Answer of a server at one moment. `wal_end` is where it had inserted WAL up
// to (pg_current_wal_insert_lsn), read after the snapshot was taken: with
// synchronous_commit = off a transaction has ended before its commit record is
// written.
struct HorizonSample {
  Lsn wal_end;
  XminHorizon horizon;
};

}  // namespace walpost
