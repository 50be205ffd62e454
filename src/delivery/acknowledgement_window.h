// AcknowledgementWindow: the records in flight, and how far they are.
//
//   records, in their order         1   2   3 | 4   5 | 6   7   8 ...
//   acknowledged, in any order      x   x   x | x   . | x   .   .
//   watermarks                                A       B
//                                             ^ passed_watermark = A
//
// Records are added in the order of their positions, and acknowledged in any
// order. A watermark is a number of the source's, and grows with the positions:
// all records before it have been added. passed_watermark() is the newest one
// before which every record is acknowledged. It never goes back. For the WAL it
// is the LSN that may be confirmed to Postgres (promise P2).
//
// After the source or the sink was lost, the window knows which of the repeated
// events need not be sent again.
//
// Owned by the Sender. Pure. Memory: one ring, allocated once, whatever the
// size of a transaction. For the records before the oldest unacknowledged one,
// only the last position is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "base/xid.h"
#include "delivery/delivery_latencies.h"
#include "delivery/error_actions.h"
#include "outbox/event.h"

namespace walpost {

// Number of a record in a window's life, from 0, without gaps.
using Sequence = uint64_t;
// Sequence of a record without an event, such as a checkpoint's. If there are
// several such records, they have the numbers before this one.
inline constexpr Sequence kNoEvent = ~Sequence{0};
// 0: none yet.
using Watermark = uint64_t;

struct InFlightRecord {
  Position position;
  WallTime commit_time;
  size_t size_bytes = 0;
  Xid xid{};
  // Index into kErrorClasses, if it is a dead letter, or was parked for it.
  uint8_t error_class = kNoErrorClass;
  // The sink reports records of kSent. Parking reports parked events and stored
  // dead letters.
  enum class Kind : uint8_t { kSent, kParked, kStoredLetter };
  Kind kind = Kind::kSent;
  LatencyLabel label{};  // of what was sent

  EventIdentity identity() const { return {position, xid, commit_time}; }
  bool is_record() const { return kind == Kind::kSent; }
  bool is_parked() const { return kind == Kind::kParked; }
  bool is_dead_letter() const {
    return error_class != kNoErrorClass && !is_parked();
  }
};

class AcknowledgementWindow {
 public:
  // The most that SpreadOver raises max_records to: with the overhead of each
  // record, the default of max_bytes has room for no more.
  static constexpr size_t kMaxSpreadRecords = 24'000;

  struct Options {
    // Maximum records in flight, 1 to 2^20. bench/README.md has the measurement
    // behind the default: fewer slow a drain down, more only cost memory.
    size_t max_records = 2'000;
    // SpreadOver raises max_records to this number for each partition; 0:
    // never.
    size_t records_per_partition = 4;
    // Maximum bytes in flight, as Record::size_bytes counts them. Exceeded by
    // at most one record.
    size_t max_bytes = size_t{16} << 20;

    // Ever in flight.
    size_t most_records() const {
      return records_per_partition == 0 ? max_records : kMaxSpreadRecords;
    }
  };

  explicit AcknowledgementWindow(Options options);

  // Raises the maximum for records that go to this many partitions. A request
  // has the records of one: with fewer records than partitions in flight, each
  // record would be a request of its own. Never lowers the maximum.
  void SpreadOver(size_t partitions);
  size_t max_records() const { return options_.max_records; }

  // True if another record may be added.
  bool HasCapacity() const {
    return in_flight_records_ < options_.max_records &&
           in_flight_bytes_ < options_.max_bytes &&
           next_ - head_ < ring_.size();
  }

  // True if a good part of the window is in use, because the sink takes less
  // than the source has.
  bool IsBusy() const {
    return 4 * in_flight_records_ >= options_.max_records ||
           4 * in_flight_bytes_ >= options_.max_bytes;
  }

  // Spread over many partitions and in good use: a record waits for the turn of
  // its partition, while later ones are acknowledged.
  bool TakesTurns() const { return is_spread_ && IsBusy(); }

  // Sequence that the next Add will return.
  Sequence next_sequence() const { return next_; }

  // A record was handed to the producer. Requires HasCapacity() and a position
  // after all earlier ones.
  Sequence Add(const InFlightRecord& record);

  // Removes the newest record as if it had never been added; the next record
  // has its sequence. Its report must have come, and must not be an
  // acknowledgement.
  void Withdraw(Sequence sequence);

  // All records before it have been added. Ignored unless it is after the last
  // one, as when events are repeated.
  void AddWatermark(Watermark watermark);

  // The brokers have the record. Returns it, valid until the next call; nullptr
  // if it is not (or no longer) in the window.
  const InFlightRecord* Acknowledge(Sequence sequence);

  // The record in flight with this sequence, else nullptr.
  const InFlightRecord* Find(Sequence sequence) const;

  Watermark passed_watermark() const { return passed_watermark_; }
  // The newest watermark, passed or not.
  Watermark newest_watermark() const { return newest_watermark_; }

  // True if a repeated event is in flight or acknowledged.
  bool Covers(const Position& position) const {
    return position <= newest_.position;
  }
  // The newest event that Covers().
  const EventIdentity& newest() const { return newest_; }
  // The newest event up to which, inclusive, everything is acknowledged.
  const EventIdentity& acknowledged() const { return acknowledged_; }

  // Takes over the progress of an earlier process or another instance, unless
  // ours is further. Requires that nothing is in flight.
  void Resume(Watermark passed, const EventIdentity& acknowledged);

  size_t in_flight_records() const { return in_flight_records_; }
  size_t in_flight_bytes() const { return in_flight_bytes_; }
  bool empty() const { return in_flight_records_ == 0; }

  // The oldest record in flight; nullptr: none.
  const InFlightRecord* oldest() const { return Find(head_); }

  // Gives up everything in flight, as when the producer is lost. The passed
  // watermark stays. Covers() still returns true for everything before the
  // oldest record that was in flight. Returns the events, in order, that were
  // acknowledged out of turn: when they are repeated, they must be skipped,
  // once each. Sequences continue, so late reports find nothing.
  std::vector<EventIdentity> Clear();

 private:
  struct Entry {
    InFlightRecord record;
    Watermark watermark = 0;  // the newest one right behind it
    bool acknowledged = false;
  };

  Entry& At(Sequence sequence) { return ring_[sequence & mask_]; }
  const Entry& At(Sequence sequence) const { return ring_[sequence & mask_]; }
  void PassAcknowledged();

  Options options_;
  bool is_spread_ = false;
  std::vector<Entry> ring_;  // its size is a power of two; holds [head_, next_)
  uint64_t mask_;
  Sequence head_ = 0;  // oldest unacknowledged record, or next_
  Sequence next_ = 0;

  Watermark passed_watermark_ = 0;
  Watermark newest_watermark_ = 0;
  EventIdentity newest_;
  EventIdentity before_newest_;  // newest_ before the newest record was added
  EventIdentity acknowledged_;   // of the record before head_
  size_t in_flight_records_ = 0;
  size_t in_flight_bytes_ = 0;
};

}  // namespace walpost
