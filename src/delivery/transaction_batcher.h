// TransactionBatcher: decides when the sink's transaction is committed, and
// lets nothing in from then until it is.
//
//   open ──▶ due ──▶ closed ──▶ everything acknowledged ──▶ committed: open
//
// A commit costs the brokers and the flow the same for one record as for ten
// thousand. So a quiet stream commits as soon as nothing more comes, a steady
// one at an interval, and one that catches up at a longer interval. Nothing
// stays in an open transaction: it would hide the records of all others in
// these partitions.
//
// After a failure the next transactions are small: 1 record, 2, 4, ... So an
// event that makes its transaction fail takes few others with it, and what
// stands before it is committed.
//
// Owned by the Relay. Pure: the caller passes the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "delivery/transaction_options.h"

namespace walpost {

class TransactionBatcher {
 public:
  explicit TransactionBatcher(const TransactionOptions& options)
      : options_(options), limit_(options.max_records) {}

  // A stream begins with an empty transaction. If the last transaction was not
  // committed, its records have failed.
  void Begin();
  // Marks the open transaction as failed, before another stream begins. False:
  // it was empty.
  bool Abandon();
  // Marks the open transaction, with one record that was rejected, as failed.
  // The stream goes on.
  void OnWithdrawn();

  // ---- For the consumer of events.

  bool MayTake() const;
  // An event was taken, and became `records` records (0: it was known, or is
  // parked).
  void OnEvent(uint64_t records, size_t bytes);
  // The events of a source transaction have ended.
  void OnBoundary() { is_inside_ = is_counted_ = false; }
  // True if the open transaction has a part of a source transaction that must
  // be committed as a whole.
  bool is_inside() const { return IsWhole() && is_inside_ && records_ > 0; }

  // ---- For the writer of checkpoints.

  // A commit is due. Call it after reports, and at due_at().
  enum class Flight { kNone, kSome, kBusy };
  bool IsDue(Flight flight, MonotonicTime now);
  // Closes the transaction for further events. True: it may be committed now.
  bool Close(bool is_in_flight);
  void OnCommitted();

  bool has_records() const { return records_ > 0; }
  uint64_t records() const { return records_; }
  size_t bytes() const { return bytes_; }
  bool is_closed() const { return is_closed_; }
  // When IsDue may become true by itself; max: not at all.
  MonotonicTime due_at() const;
  // Time since which the open transaction has records; nullopt: it is empty.
  std::optional<MonotonicTime> begun_at() const { return begun_at_; }

  // The source transaction is too large, and must not be split.
  bool is_stopped() const { return is_stopped_; }
  // True if its records or bytes are too many, rather than its duration too
  // long.
  bool IsTooLarge() const {
    return records_ >= options_.max_records || bytes_ >= options_.max_bytes;
  }
  // Source transactions that were split.
  uint64_t splits() const { return splits_; }
  uint64_t committed_records() const { return committed_records_; }
  uint64_t withdrawn() const { return withdrawn_; }  // transactions

 private:
  bool IsWhole() const {
    return options_.boundary == TransactionOptions::Boundary::kSource;
  }
  // True if a source transaction has begun in it that must be whole.
  bool MustGoOn() const { return is_inside() && !is_split_; }
  bool IsOversized(MonotonicTime now) const;
  std::chrono::milliseconds interval() const {
    const bool is_busy = busy_until_ > looked_at_;
    return is_busy ? kBusyFactor * options_.interval : options_.interval;
  }
  void StartOver();

  // With the default interval, a commit takes 3 % of the time.
  static constexpr int kBusyFactor = 20;

  TransactionOptions options_;
  uint64_t limit_;  // of records; rises again after a failure

  uint64_t records_ = 0;
  size_t bytes_ = 0;
  std::optional<MonotonicTime> begun_at_;
  uint64_t noted_ = 0;  // records_ when it last grew, at noted_at_
  MonotonicTime noted_at_{};
  MonotonicTime looked_at_{};
  MonotonicTime busy_until_{};
  bool is_inside_ = false;
  bool is_closed_ = false;
  bool is_split_ = false;
  bool is_counted_ = false;  // its source transaction, in splits_
  bool is_stopped_ = false;
  uint64_t splits_ = 0;
  uint64_t committed_records_ = 0;
  uint64_t withdrawn_ = 0;
};

}  // namespace walpost
