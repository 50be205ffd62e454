// AcknowledgementWindow: the records in flight, and the LSN to confirm.
//
//   records, in stream order        1   2   3 | 4   5 | 6   7   8 ...
//   acknowledged, in any order      x   x   x | x   . | x   .   .
//   boundaries (LSNs)                         A       B
//                                             ^ confirmed = A
//
// Records are added in stream order and acknowledged in any order. A boundary
// behind a record is an LSN with nothing between the two: all records of the
// WAL before it have been added. confirmed() is the newest boundary before
// which every record is acknowledged. Only this LSN may be confirmed to
// Postgres (promise P2). It never goes back.
//
// After the connection or the producer was lost, the window knows which events
// of the repeated stream need not be produced again.
//
// Owned by the Pipeline. Pure. Memory: one ring, allocated once, whatever the
// size of a transaction. For the records before the oldest unacknowledged one,
// only the last position is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "base/lsn.h"
#include "base/time.h"
#include "base/xid.h"
#include "delivery/error_actions.h"
#include "delivery/history_check.h"
#include "delivery/resume_filter.h"
#include "outbox/position.h"

namespace walpost {

// Number of a record in a window's life, from 0, without gaps.
using Sequence = uint64_t;
// Sequence of a checkpoint's record, and of others without an event.
inline constexpr Sequence kNoEvent = ~Sequence{0};

struct InFlightRecord {
  Position position;
  WallTime commit_time;
  size_t size_bytes = 0;
  Xid xid{};
  // Index into kErrorClasses, if it is a dead letter, or was parked for it.
  uint8_t error_class = kNoErrorClass;
  bool is_parked = false;
  bool is_kept_letter = false;  // stored by Parking, not sent

  // True if the brokers report it.
  bool is_record() const { return !is_parked && !is_kept_letter; }
  bool is_dead_letter() const {
    return error_class != kNoErrorClass && !is_parked;
  }
};

class AcknowledgementWindow {
 public:
  struct Options {
    // Maximum records in flight, 1 to 2^20. bench/README.md has the measurement
    // behind the default: fewer slow a drain down, more only cost memory.
    size_t max_records = 2'000;
    // Maximum bytes in flight, as Record::size_bytes counts them. Exceeded by
    // at most one record.
    size_t max_bytes = size_t{16} << 20;
  };

  explicit AcknowledgementWindow(Options options);

  // True if another record may be added.
  bool HasRoom() const {
    return in_flight_records_ < options_.max_records &&
           in_flight_bytes_ < options_.max_bytes &&
           next_ - head_ < ring_.size();
  }

  // True if a good part of it is in use: the sink takes less than there is.
  bool IsBusy() const {
    return 4 * in_flight_records_ >= options_.max_records ||
           4 * in_flight_bytes_ >= options_.max_bytes;
  }

  // Sequence that the next Add will return.
  Sequence next_sequence() const { return next_; }

  // A record was handed to the producer. Requires HasRoom() and a position
  // after all earlier ones.
  Sequence Add(const InFlightRecord& record);

  // The newest record is not on its way any more: as if it had never been
  // added. It must not be acknowledged, and its report must have come: the next
  // record has its sequence.
  void Withdraw(Sequence sequence);

  // All records of the WAL before `lsn` have been added. Ignored unless `lsn`
  // is after the last boundary, as when a stream is repeated.
  void AddBoundary(Lsn lsn);

  // The brokers have the record. Returns it, valid until the next call; nullptr
  // if it is not (or no longer) in the window.
  const InFlightRecord* Acknowledge(Sequence sequence);

  // The record in flight with this sequence, else nullptr.
  const InFlightRecord* Find(Sequence sequence) const;

  // 0/0 until the first boundary is reached.
  Lsn confirmed() const { return confirmed_; }

  // The newest boundary, reached or not: all before it was received.
  Lsn received() const { return received_; }

  // True if an event of a repeated stream is in flight or acknowledged.
  bool Covers(const Position& position) const {
    return position <= newest_position_;
  }

  // The newest event up to which, inclusive, everything is acknowledged.
  const Position& acknowledged_through() const { return acknowledged_through_; }
  // Its transaction; without an LSN if not known.
  const CommitIdentity& acknowledged_commit() const {
    return acknowledged_commit_;
  }

  // Transaction of the newest position that Covers(); without an LSN likewise.
  const CommitIdentity& covered_commit() const { return newest_commit_; }

  // Takes over the progress of an earlier process or another instance, unless
  // ours is further. Requires that nothing is in flight.
  void Resume(Lsn confirmed, const Position& acknowledged_through,
              const CommitIdentity& commit = {});

  size_t in_flight_records() const { return in_flight_records_; }
  size_t in_flight_bytes() const { return in_flight_bytes_; }
  bool empty() const { return in_flight_records_ == 0; }

  // The oldest record in flight; nullptr: none.
  const InFlightRecord* oldest() const { return Find(head_); }

  // Gives up everything in flight, as when the producer is lost. confirmed()
  // stays. Covers() still returns true for everything before the oldest record
  // that was in flight. Returns the positions, in order, that were acknowledged
  // out of turn: the repeated stream must skip them, once each. Sequences
  // continue, so late reports find nothing.
  std::vector<AcknowledgedEvent> Clear();

 private:
  struct Entry {
    InFlightRecord record;
    Lsn boundary;  // the newest boundary right behind it; 0/0: none
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
  Position position_before_;       // newest_position_ before the newest record
  Position acknowledged_through_;  // of the record before head_
  CommitIdentity acknowledged_commit_;
  CommitIdentity newest_commit_;  // of newest_position_
  CommitIdentity commit_before_;  // of position_before_
  size_t in_flight_records_ = 0;
  size_t in_flight_bytes_ = 0;
};

}  // namespace walpost
