// AcknowledgementWindow: what is in flight, and what may be confirmed.
//
//   records, in stream order        1   2   3 | 4   5 | 6   7   8 ...
//   acknowledged, in any order      x   x   x | x   . | x   .   .
//   boundaries (LSNs)                         A       B
//                                             ^ confirmed = A
//
// Records are added in stream order and acknowledged in any order. A boundary
// behind a record is an LSN with nothing between the two: all that the WAL
// before it holds has been added. confirmed() is the newest boundary before
// which every record is acknowledged; that, and only that, may be told to
// Postgres (promise P2). It never goes back.
//
// Across a loss of the connection or of the producer, the window knows which
// events of the repeated stream need not be produced again.
//
// Owned by the Pipeline. Pure. Memory: one ring, allocated once, whatever the
// size of a transaction: of the records before the oldest unacknowledged one
// only the last position is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "base/lsn.h"
#include "base/time.h"
#include "base/xid.h"
#include "delivery/history_check.h"
#include "delivery/resume_filter.h"
#include "outbox/position.h"

namespace walpost {

// Counts the records through the life of a window, from 0, without gaps.
using Sequence = uint64_t;

struct InFlightRecord {
  Position position;
  WallTime commit_time;
  size_t size_bytes = 0;
  Xid xid{};
};

class AcknowledgementWindow {
 public:
  struct Options {
    // Most records in flight, 1 to 2^20. bench/README.md has the measurement
    // behind this number: fewer hold a drain up, more only cost memory.
    size_t max_records = 2'000;
    // Most bytes in flight, as Record::size_bytes counts them. Overrun by at
    // most one record.
    size_t max_bytes = size_t{16} << 20;
  };

  explicit AcknowledgementWindow(Options options);

  // Whether another record may be added.
  bool HasRoom() const {
    return in_flight_records_ < options_.max_records &&
           in_flight_bytes_ < options_.max_bytes &&
           next_ - head_ < ring_.size();
  }

  // The sequence that the next Add will give.
  Sequence next_sequence() const { return next_; }

  // A record was handed to the producer. Requires HasRoom() and a position
  // after all before.
  Sequence Add(const InFlightRecord& record);

  // All that the WAL before `lsn` holds has been added. Ignored when it is
  // not after the last boundary, as when a stream is repeated.
  void AddBoundary(Lsn lsn);

  // The brokers have it. Returns the record, valid until the next call;
  // nullptr when it is not in the window (any more).
  const InFlightRecord* Acknowledge(Sequence sequence);

  // The record of a sequence that is in flight, else nullptr.
  const InFlightRecord* Find(Sequence sequence) const;

  // 0/0 until the first boundary is reached.
  Lsn confirmed() const { return confirmed_; }

  // The newest boundary, reached or not: what was received whole.
  Lsn received() const { return received_; }

  // Whether an event of a repeated stream is in flight or acknowledged.
  bool Covers(const Position& position) const {
    return position <= newest_position_;
  }

  // The newest event before which, itself included, everything is acknowledged.
  const Position& acknowledged_through() const { return acknowledged_through_; }
  // Its transaction; without an LSN when none is known.
  const CommitIdentity& acknowledged_commit() const {
    return acknowledged_commit_;
  }

  // The transaction up to which Covers() says yes; likewise.
  const CommitIdentity& covered_commit() const { return newest_commit_; }

  // Takes over what an earlier process, or another instance, had come to.
  // Nothing is in flight; what is not after our own progress is ignored.
  void Resume(Lsn confirmed, const Position& acknowledged_through,
              const CommitIdentity& commit = {});

  size_t in_flight_records() const { return in_flight_records_; }
  size_t in_flight_bytes() const { return in_flight_bytes_; }
  bool empty() const { return in_flight_records_ == 0; }

  // The oldest record in flight, nullptr when there is none.
  const InFlightRecord* oldest() const { return Find(head_); }

  // Gives up everything in flight, as when the producer is lost. confirmed()
  // stays; so does, for Covers(), everything before the oldest record that
  // was in flight. Returns the positions, in order, that were acknowledged
  // out of turn: the repeated stream must pass over them, once each.
  // Sequences go on, so that late reports find nothing.
  std::vector<AcknowledgedEvent> Clear();

 private:
  struct Entry {
    InFlightRecord record;
    Lsn boundary;  // the newest boundary right behind it; 0/0 for none
    bool acknowledged = false;
  };

  Entry& At(Sequence sequence) { return ring_[sequence & mask_]; }
  const Entry& At(Sequence sequence) const { return ring_[sequence & mask_]; }
  void PassAcknowledged();

  Options options_;
  std::vector<Entry> ring_;  // its size is a power of two; holds [head_, next_)
  uint64_t mask_;
  Sequence head_ = 0;  // oldest unacknowledged record, or next_
  Sequence next_ = 0;

  Lsn confirmed_;
  Lsn received_;
  Position newest_position_;
  Position acknowledged_through_;  // of the record before head_
  CommitIdentity acknowledged_commit_;
  CommitIdentity newest_commit_;  // of newest_position_
  size_t in_flight_records_ = 0;
  size_t in_flight_bytes_ = 0;
};

}  // namespace walpost
