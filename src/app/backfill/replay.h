// Replay: sends WAL of the replay window to Kafka again, beside the relay.
//
//   ReplaySource ──▶ RangeBackfill ──▶ DeliveryRun
//
// ReplayFlow and RangeBackfill decide; this class carries it out. The records
// have the same bytes and order as in the live flow, plus the header
// `walpost-replay`. Memory is bounded in the same way.
//
// Use once: Create, Run, read result(). Runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/sink/delivery_run.h"
#include "backfill/range_backfill.h"
#include "backfill/replay_flow.h"
#include "config/config.h"
#include "delivery/record_sink.h"
#include "outbox/events_on_record.h"
#include "postgres/connect/shutdown_monitor.h"
#include "postgres/stream/replay_source.h"

namespace walpost {

class Replay {
 public:
  struct Options {
    ReplayRequest request;
    std::string topic_prefix;
    uint64_t per_second = 0;  // records; 0: no limit
    bool dry_run = false;     // only counts
    // Called often: records sent; WAL bytes that are done, and all.
    std::function<void(uint64_t records, uint64_t done, uint64_t all)> progress;
  };
  struct Result {
    ReplayRange range;
    bool is_open = false;      // the range is known
    bool is_complete = false;  // all of it is acknowledged
    bool failed_at_kafka = false;
    Lsn resume;  // all before it is acknowledged
    RangeBackfill::Counts counts;
    // Left out, because they were replicated. Of several rounds, each event
    // once, unless it was in a part that was repeated.
    uint64_t other_origin = 0;
  };

  // kInvalidArgument: the configuration is not suitable.
  static absl::StatusOr<std::unique_ptr<Replay>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      SinkFactory sinks, Options options);

  // Errors are those of ReplaySource, or say what cannot be produced. Also kOk
  // after Stop.
  boost::asio::awaitable<absl::Status> Run();

  // Stops reading, and waits for the records in flight.
  void Stop();

  Result result() const;

 private:
  Replay(boost::asio::any_io_executor executor, const Config& config,
         SinkFactory sinks, Options options,
         std::unique_ptr<RecordBuilder> builder);

  std::unique_ptr<ReplaySource> NewSource();
  boost::asio::awaitable<void> CarryOut(ReplayFlow::Do next);
  boost::asio::awaitable<void> Open();
  boost::asio::awaitable<absl::Status> ReadOnRecord();
  void Begin();
  boost::asio::awaitable<void> Watch();
  boost::asio::awaitable<void> WatchServer();

  boost::asio::any_io_executor executor_;
  Config config_;
  Options options_;
  std::unique_ptr<RecordBuilder> builder_;  // until Begin
  RangeBackfill backfill_;
  ReplayFlow flow_;
  std::vector<std::vector<std::string>> references_;
  int sources_ = 0;
  std::unique_ptr<ReplaySource> source_;  // of the round
  ShutdownMonitor shutdown_monitor_;
  SinkFactory sinks_;
  std::optional<EventsOnRecord> on_record_;  // until Begin
  std::unique_ptr<DeliveryRun> run_;         // not in a dry run
  boost::asio::steady_timer watch_timer_;

  uint64_t other_origin_ = 0;  // of earlier rounds
  bool records_failed_at_kafka_ = false;
  bool ended_ = false;
};

}  // namespace walpost
