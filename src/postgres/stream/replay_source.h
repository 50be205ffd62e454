// ReplaySource: reads WAL again that was already confirmed.
//
//   Open    copies the guard slot, finds the range, rejects missing WAL
//   Stream  passes the transactions of the range to the consumer
//
// Reads a temporary copy of the guard slot, made and started on one replication
// connection: such a slot is dropped with its session. The guard slot and the
// live slot are not moved, and the live relay continues.
// ChooseReplayRange decides which range (checkpoint/replay_range.h).
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
#include "absl/status/statusor.h"
#include "checkpoint/replay_range.h"
#include "delivery/event_consumer.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/slot.h"
#include "postgres/stream/replication_reader.h"
#include "session/wal_stream.h"

namespace walpost {

class ReplaySource {
 public:
  static constexpr char kApplicationName[] = "walpost:replay";

  // `references`: see TransactionAssembler. `consumer` outlives this object.
  // `number`: another one for each source of a process.
  ReplaySource(boost::asio::any_io_executor executor,
               const WalSourceOptions& options, const OutboxOptions& outbox,
               std::vector<std::vector<std::string>> references,
               EventConsumer& consumer, int number);

  // kFailedPrecondition: no guard slot. Other errors are those of
  // ChooseReplayRange and of the connection.
  boost::asio::awaitable<absl::Status> Open(ReplayRequest request);
  const ReplayRange& range() const { return range_; }
  const std::string& system_identifier() const {
    return server_.system_identifier;
  }

  // Runs until the end of the range was handed in (kOk; reached_end), or Stop
  // (kOk), or an error.
  boost::asio::awaitable<absl::Status> Stream();
  // After Stream.
  bool reached_end() const {
    return range_.is_empty() || stream_.reached_end();
  }
  SkippedChanges skipped() const { return stream_.skipped(); }

  void Stop();
  // The consumer has made progress.
  void OnProgress() { reader_.OnProgress(); }

 private:
  boost::asio::awaitable<absl::Status> Prepare(ReplayRequest request);
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> FindRange(ReplayRequest request);
  boost::asio::awaitable<absl::StatusOr<WallTime>> FindSince(std::string since);
  boost::asio::awaitable<absl::StatusOr<SlotState>> CopyGuardSlot();

  boost::asio::any_io_executor executor_;
  WalSourceOptions options_;
  const OutboxOptions outbox_;
  std::string copy_;  // name of the temporary slot
  WalStream stream_;
  ReplicationReader reader_;
  std::unique_ptr<Connection> connection_;  // before the stream
  ReplayServer server_;
  ReplayRange range_;
  bool is_stopped_ = false;
};

}  // namespace walpost
