// Replay: WAL of the replay window to Kafka once more, beside the live relay.
//
//   ReplaySource ──▶ Replay ──▶ Pipeline ──▶ Producer
//                    └─ rate limit, or a mere count
//
// The records are the same bytes as those of the live flow and go in the same
// order, each with header `walpost-replay`. Memory is bounded as it is there.
//
// What would be mended by starting over (a lost connection, a spent producer)
// ends it: Result::resume says where the next one goes on.
//
// One use: Create, Run, look at result(). Runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "delivery/pipeline.h"
#include "delivery/rate_limit.h"
#include "kafka/producer.h"
#include "postgres/replay_source.h"
#include "postgres/shutdown_watch.h"

namespace walpost {

class Replay final : private ReplayTaker {
 public:
  struct Options {
    ReplayRequest request;
    std::string topic_prefix;
    uint64_t per_second = 0;  // most records; 0: no limit
    bool dry_run = false;     // counts, and produces nothing
    // Called often: records sent, and of the bytes of WAL those that are done
    // and all.
    std::function<void(uint64_t records, uint64_t done, uint64_t all)> progress;
  };
  struct Result {
    ReplayRange range;
    bool is_open = false;      // the range is known
    bool is_complete = false;  // all of it is acknowledged
    bool failed_at_kafka = false;
    Lsn resume;  // everything before it is acknowledged
    uint64_t events = 0;
    uint64_t undeliverable = 0;  // of a dry run, beside `events`
    uint64_t value_bytes = 0;
    uint64_t skipped = 0;  // from before `since`
  };

  // kInvalidArgument: the configuration does not do.
  static absl::StatusOr<std::unique_ptr<Replay>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      Options options);

  // Errors are those of ReplaySource; else it says what cannot be produced.
  // kOk after Stop, too.
  boost::asio::awaitable<absl::Status> Run();

  // Reads no further, and waits for what is in flight.
  void Stop();

  Result result() const;

 private:
  Replay(boost::asio::any_io_executor executor, const Config& config,
         Options options, std::unique_ptr<RecordBuilder> builder);

  absl::Status StartProducer();
  boost::asio::awaitable<absl::Status> WaitForAcknowledgements();
  boost::asio::awaitable<void> Watch();
  boost::asio::awaitable<void> WatchServer();
  void OnDrained();

  bool OnEvent(const Event& event) override;
  bool OnUndeliverable(const Event& event, const absl::Status& error) override;
  bool CanTake() const override;
  MonotonicTime retry_at() const override;
  void OnBoundary(Lsn lsn) override;
  Lsn done() const override;
  absl::Status Health() const override;

  boost::asio::any_io_executor executor_;
  Config config_;
  Options options_;
  std::unique_ptr<RecordBuilder> builder_;  // until the pipeline has it
  ReplaySource source_;
  ShutdownWatch shutdown_watch_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<Producer> producer_;
  RateLimit rate_;
  boost::asio::steady_timer watch_timer_;
  boost::asio::steady_timer drain_timer_;

  Lsn counted_through_;  // of a dry run
  uint64_t counted_ = 0;
  uint64_t counted_bytes_ = 0;
  uint64_t undeliverable_ = 0;

  uint64_t acknowledged_ = 0;
  MonotonicTime acknowledged_at_{};
  std::optional<MonotonicTime> stop_deadline_;
  absl::Status server_trouble_;
  bool opened_ = false;
  bool ended_ = false;
};

}  // namespace walpost
