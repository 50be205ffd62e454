// ReplaySource: reads WAL again that was already confirmed.
//
//   Open    copies the guard slot, finds the range, rejects missing WAL
//   Stream  passes the transactions of the range to the consumer
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
#include "delivery/event_consumer.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/slot.h"
#include "postgres/stream/replication_reader.h"
#include "session/wal_stream.h"

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

class ReplaySource {
 public:
  static constexpr char kApplicationName[] = "walpost:replay";

  // `references`: see TransactionAssembler. `consumer` outlives this object.
  // `number`: another one for each source of a process.
  ReplaySource(boost::asio::any_io_executor executor,
               const WalSourceOptions& options, const OutboxOptions& outbox,
               std::vector<std::vector<std::string>> references,
               EventConsumer& consumer, int number);

  // kFailedPrecondition: no guard slot, or the WAL was removed; names the
  // oldest available LSN. kInvalidArgument: the request makes no sense.
  boost::asio::awaitable<absl::Status> Open(ReplayRequest request);
  const ReplayRange& range() const { return range_; }
  const std::string& system_identifier() const { return system_identifier_; }

  // Runs until the end of the range was handed in (kOk; reached_end), or Stop
  // (kOk), or an error.
  boost::asio::awaitable<absl::Status> Stream();
  bool reached_end() const { return is_empty_ || stream_.reached_end(); }
  SkippedChanges skipped() const { return stream_.skipped(); }

  void Stop();
  // The consumer has made progress.
  void OnProgress() { reader_.OnProgress(); }

 private:
  boost::asio::awaitable<absl::Status> Prepare(ReplayRequest request);
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> FindRange(ReplayRequest request);
  boost::asio::awaitable<absl::Status> FindSince(std::string since);
  boost::asio::awaitable<absl::StatusOr<SlotState>> CopyGuardSlot();
  absl::Status FromCheckpoint(const Checkpoint& checkpoint);
  absl::Status CheckRange(Lsn oldest, Lsn confirmed) const;

  boost::asio::any_io_executor executor_;
  WalSourceOptions options_;
  const OutboxOptions outbox_;
  std::string copy_;  // name of the temporary slot
  WalStream stream_;
  ReplicationReader reader_;
  std::unique_ptr<Connection> connection_;  // before the stream
  std::string system_identifier_;
  ReplayRange range_;
  bool is_empty_ = false;
  bool is_stopped_ = false;
};

}  // namespace walpost
