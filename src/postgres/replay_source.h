// ReplaySource: reads WAL again that was already confirmed.
//
//   Open    copies the guard slot, finds the range, rejects missing WAL
//   Stream  passes the transactions of the range to a ReplayTaker
//
// Reads a temporary copy of the guard slot, made and started on one replication
// connection: such a slot is dropped with its session. The guard slot and the
// live slot are not moved, and the live relay continues.
//
// A range [from, to) refers to LSNs of commit records, so its ends need not be
// boundaries: a transaction is in it as a whole or not at all.
//
// Use once: Open, then Stream. Owned by the Replay; runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/checkpoint.h"
#include "outbox/options.h"
#include "outbox/transaction_assembler.h"
#include "postgres/connection.h"
#include "postgres/replication_stream.h"
#include "postgres/slot.h"
#include "postgres/source_options.h"

namespace walpost {

struct ReplayRequest {
  Lsn from;           // 0/0: the oldest available WAL
  Lsn to;             // 0/0: confirmed LSN of the live slot now
  std::string since;  // a time for Postgres, or 1h for an hour ago
  std::optional<Checkpoint> checkpoint;  // begin at its position
};

struct ReplayRange {
  Lsn from;
  Lsn to;
  std::optional<WallTime> since;  // skip earlier transactions
  uint32_t timeline = 0;
};

// Takes the events, in order.
class ReplayTaker {
 public:
  virtual ~ReplayTaker() = default;
  // False: offered again after OnProgress, or at `retry_at()`.
  virtual bool OnEvent(const Event& event) = 0;
  virtual bool OnUndeliverable(const Event& event,
                               const absl::Status& error) = 0;
  virtual bool CanTake() const = 0;
  virtual MonotonicTime retry_at() const = 0;
  // All events that commit before `lsn` were handed in.
  virtual void OnBoundary(Lsn lsn) = 0;
  // All before it is done: the copy may release it.
  virtual Lsn done() const = 0;
  // An error stops the stream.
  virtual absl::Status Health() const = 0;
};

class ReplaySource {
 public:
  // `references`: see TransactionAssembler.
  ReplaySource(boost::asio::any_io_executor executor,
               const WalSourceOptions& options, const OutboxOptions& outbox,
               std::vector<std::vector<std::string>> references);

  // kFailedPrecondition: no guard slot, or the WAL was removed; names the
  // oldest available LSN. kInvalidArgument: the request makes no sense.
  boost::asio::awaitable<absl::Status> Open(ReplayRequest request);
  const ReplayRange& range() const { return range_; }

  // Runs until the end of the range was handed in (kOk; reached_end), or Stop
  // (kOk), or an error.
  boost::asio::awaitable<absl::Status> Stream(ReplayTaker& taker);
  bool reached_end() const { return reached_end_; }

  // Skipped events from before `since`.
  uint64_t skipped() const { return skipped_; }

  void Stop();
  // The taker has made progress.
  void OnProgress();

 private:
  enum class Next { kMore, kReadable, kRoom };

  boost::asio::awaitable<absl::Status> Prepare(ReplayRequest request);
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> FindRange(ReplayRequest request);
  boost::asio::awaitable<absl::Status> FindSince(std::string since);
  boost::asio::awaitable<absl::StatusOr<SlotState>> CopyGuardSlot();
  absl::Status FromCheckpoint(const Checkpoint& checkpoint);
  absl::Status CheckRange(Lsn oldest, Lsn confirmed) const;

  absl::StatusOr<Next> TakeFrames(ReplayTaker& taker);
  absl::Status HandleWarnings();
  absl::Status CheckNotSilent(MonotonicTime now) const;
  absl::Status HandleFrame(ReplayTaker& taker);
  void Deliver(ReplayTaker& taker);
  void ReachEnd(ReplayTaker& taker);
  absl::Status SendFeedback(Lsn done, MonotonicTime now);

  boost::asio::any_io_executor executor_;
  WalSourceOptions options_;
  bool reads_messages_;
  std::string copy_;  // name of the temporary slot
  TransactionAssembler assembler_;
  std::unique_ptr<Connection> connection_;
  std::optional<ReplicationStream> stream_;
  std::string system_identifier_;
  ReplayRange range_;
  Step step_;
  bool step_is_held_ = false;
  uint64_t skipped_ = 0;
  MonotonicTime told_at_{};
  MonotonicTime heard_at_{};  // or when nothing could be read
  bool reached_end_ = false;
  bool stopped_ = false;
};

}  // namespace walpost
