// PollingRelay: outbox tables to Kafka by polling, from the first connection
// to a clean end. The Relay's smaller sibling, for `source: polling`.
//
//   TablePoller, one per table ──▶ Outbound ──▶ Producer
//        └── marks in the table ◀── reports ◀──┘
//
// It owns them, replaces the producer when that has failed or a poller calls
// its records back, and knows why nothing is moving when nothing is. Everything
// runs on the one io_context that it is given.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "app/state_log.h"
#include "base/backoff.h"
#include "config/config.h"
#include "delivery/diagnosis.h"
#include "delivery/relay_status.h"
#include "kafka/producer.h"
#include "polling/outbound.h"
#include "polling/table_poller.h"

namespace walpost {

class PollingRelay {
 public:
  // kInvalidArgument: a topic template or a property of Kafka is wrong.
  static absl::StatusOr<std::unique_ptr<PollingRelay>> Create(
      boost::asio::any_io_executor executor, const Config& config);

  // Runs until Shutdown (kOk) or until a table cannot be polled as configured
  // (kFailedPrecondition, kInvalidArgument) before it ever was. Later such
  // errors leave it up, stuck and saying why.
  boost::asio::awaitable<absl::Status> Run();

  // Claim nothing more, let the brokers acknowledge what is in flight, mark it,
  // end. At the latest after Config::shutdown_timeout.
  void Shutdown();

  // As of Relay.
  void RenewCredentials();

  RelayStatus Status() const;

 private:
  PollingRelay(boost::asio::any_io_executor executor, const Config& config,
               std::unique_ptr<RecordBuilder> builder);

  void MakePollers();
  absl::Status StartProducer();
  boost::asio::awaitable<void> GiveUpProducer();
  void ReplaceProducer();
  boost::asio::awaitable<void> End();
  // The first table that cannot be polled as configured; ok when there is none.
  absl::Status Hopeless() const;
  bool AllEnded() const;
  bool HasPendingRows() const;
  void WakePollers();
  void NoteBrokers();
  RelaySigns Signs() const;

  boost::asio::any_io_executor executor_;
  Config config_;
  Outbound outbound_;
  std::unique_ptr<Producer> producer_;
  absl::Status producer_trouble_;  // why there is none; ok otherwise
  MonotonicTime producer_at_{};    // when the next one is made
  std::vector<std::unique_ptr<TablePoller>> pollers_;
  boost::asio::steady_timer timer_;
  Backoff backoff_;
  std::optional<MonotonicTime> shutdown_deadline_;
  uint64_t rewinds_ = 0;

  StateLog state_log_;
  uint64_t acknowledged_before_ = 0;
  MonotonicTime acknowledged_at_;
  bool called_back_ = false;            // since the last acknowledgement
  MonotonicTime brokers_seen_at_;       // when one last sent something
  MonotonicTime brokers_connected_at_;  // when a connection was last up
  // After an outage they may have topics to make first.
  MonotonicTime topics_known_at_{};
  bool kafka_was_reached_ = false;
};

}  // namespace walpost
