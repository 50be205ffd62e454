// ReplaySource: WAL that was confirmed already, once more.
//
//   Open    copy the guard slot, find the range, refuse what is gone
//   Stream  the transactions of the range, to a ReplayTaker
//
// Reads a temporary copy of the guard slot, made and started on one replication
// connection, for such a slot belongs to its session and ends with it. Neither
// the guard slot nor the live one is moved, and the live relay goes on.
//
// A range [from, to) is that of the LSNs of commit records, so its ends need
// not be boundaries of anything: a transaction is in it as a whole or not.
//
// One use: Open, then Stream. Owned by the Replay; runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "delivery/checkpoint.h"
#include "outbox/options.h"
#include "outbox/transaction_assembler.h"
#include "postgres/connection.h"
#include "postgres/replication_stream.h"
#include "postgres/slot.h"
#include "postgres/source_options.h"

namespace walpost {

struct ReplayRequest {
  Lsn from;           // 0/0: as far back as there is WAL
  Lsn to;             // 0/0: what the live slot has confirmed by now
  std::string since;  // as Postgres reads a time, or 1h for an hour ago
  std::optional<Checkpoint> checkpoint;  // begin where it stands
};

struct ReplayRange {
  Lsn from;
  Lsn to;
  std::optional<WallTime> since;  // transactions that committed earlier: not
  uint32_t timeline = 0;
};

// Who gets the events, in order.
class ReplayTaker {
 public:
  virtual ~ReplayTaker() = default;
  // False: it is offered again after OnProgress, or at `retry_at()`.
  virtual bool OnEvent(const Event& event) = 0;
  virtual bool OnUndeliverable(const Event& event,
                               const absl::Status& error) = 0;
  virtual bool CanTake() const = 0;
  virtual MonotonicTime retry_at() const = 0;
  // Everything that commits before it was handed in.
  virtual void OnBoundary(Lsn lsn) = 0;
  // Before it all is done: the copy may forget it.
  virtual Lsn done() const = 0;
  // An error ends the stream.
  virtual absl::Status Health() const = 0;
};

class ReplaySource {
 public:
  // `references`: TransactionAssembler's.
  ReplaySource(boost::asio::any_io_executor executor,
               const WalSourceOptions& options, const OutboxOptions& outbox,
               std::vector<std::vector<std::string>> references);

  // kFailedPrecondition: no guard slot, or the WAL is gone; names the oldest
  // LSN that is left. kInvalidArgument: the request makes no sense.
  boost::asio::awaitable<absl::Status> Open(ReplayRequest request);
  const ReplayRange& range() const { return range_; }

  // Until the end of the range was handed in (kOk; reached_end), or Stop
  // (kOk), or an error.
  boost::asio::awaitable<absl::Status> Stream(ReplayTaker& taker);
  bool reached_end() const { return reached_end_; }

  // Events from before `since` that were passed over.
  uint64_t skipped() const { return skipped_; }

  void Stop();
  // The taker has moved.
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
  MonotonicTime heard_at_{};  // or had no chance to be heard
  bool reached_end_ = false;
  bool stopped_ = false;
};

}  // namespace walpost
