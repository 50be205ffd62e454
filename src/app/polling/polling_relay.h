// PollingRelay: moves outbox tables to Kafka by polling, from the first
// connection to a clean stop. Counterpart of Relay for `source: polling`.
//
//   TablePoller, one per table ──▶ PollingSender ──▶ Sink
//        └── marks in the table ◀── reports ◀──┘
//
// It owns them, replaces the sink if it has failed or a poller calls its
// records back, and knows why no row is published. Everything runs on the given
// io_context.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "app/live/table_expansion.h"
#include "app/process/state_log.h"
#include "app/sink/sink_handle.h"
#include "base/backoff.h"
#include "config/config.h"
#include "delivery/record_sink.h"
#include "health/broker_contact.h"
#include "health/diagnosis.h"
#include "health/relay_status.h"
#include "polling/polling_sender.h"
#include "polling/table_poller.h"

namespace walpost {

class PollingRelay {
 public:
  // `before`: see Relay. kInvalidArgument: a topic template or a property of
  // Kafka is wrong.
  static absl::StatusOr<std::unique_ptr<PollingRelay>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      const TableExpansion& before, SinkFactory sinks);

  // Runs until Shutdown or a new table (kOk), or until a table cannot be polled
  // as configured (kFailedPrecondition, kInvalidArgument) before it ever was.
  // After such a later error it stays up, stuck, and reports why.
  boost::asio::awaitable<absl::Status> Run();

  // Stops claiming, lets the brokers acknowledge the records in flight, marks
  // them, and stops. Takes at most Config::shutdown_timeout.
  void Shutdown();

  // See Relay.
  const TableExpansion* next() const { return next_ ? &*next_ : nullptr; }
  void RenewCredentials();

  RelayStatus Status() const;

 private:
  PollingRelay(boost::asio::any_io_executor executor, const Config& config,
               bool has_polled, SinkFactory sinks,
               std::unique_ptr<RecordBuilder> builder);

  void MakePollers();
  boost::asio::awaitable<void> WatchTables();
  boost::asio::awaitable<absl::Status> LookForTables();
  void MakeWayFor(OutboxOptions outbox);
  boost::asio::awaitable<void> GiveUpSink();
  void ReplaceSink();
  boost::asio::awaitable<void> End();
  // Error of the first table that cannot be polled as configured, else ok.
  absl::Status Hopeless() const;
  bool HasFailedSink() const;
  bool AllEnded() const;
  bool HasPendingRows() const;
  void WakePollers();
  void NoteBrokers();
  RelaySigns Signs() const;
  std::optional<PauseRecord> Pause() const;

  boost::asio::any_io_executor executor_;
  Config config_;
  const bool has_polled_;      // in this process
  bool knows_tables_ = false;  // that match outbox.patterns
  absl::Status tables_trouble_;
  std::optional<TableExpansion> next_;
  PollingSender polling_sender_;
  SinkHandle sinks_;
  absl::Status sink_trouble_;  // why there is none; else ok
  MonotonicTime sink_at_{};    // when to make the next one
  std::vector<std::unique_ptr<TablePoller>> pollers_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer tables_timer_;
  Backoff backoff_;
  std::optional<MonotonicTime> shutdown_deadline_;
  uint64_t rewinds_ = 0;

  StateLog state_log_;
  BrokerContact brokers_;
};

}  // namespace walpost
