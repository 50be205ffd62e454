// IsolatedTopicResender: sends the events that wait for isolated topics, in
// order.
//
//   ParkingTable ──rows of a topic──▶ StoredEventSender of this topic ──▶ Kafka
//        ▲                                   │
//        └────────────── result ◀────────────┘
//
// Each topic has a StoredEventSender, and so a producer, of its own: a topic
// that takes nothing holds up no other. That is also how it is noticed that a
// topic is back.
//
// Nobody else writes to such a topic: its acknowledged offsets go to the
// relay's OffsetRegressionDetector, as if the relay's producer had written
// there. So a topic that was deleted and created again is noticed, during the
// drain and after it (P9).
//
// Owned by the ParkedEventService, whose table it shares: one call at a time.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/stored/stored_event_sender.h"
#include "base/time.h"
#include "config/config.h"
#include "delivery/sink_knowledge.h"
#include "parking/parked_keys.h"
#include "postgres/parking/parking_table.h"

namespace walpost {

class IsolatedTopicResender {
 public:
  // All arguments outlive this object. `wake` is called when there is a result.
  IsolatedTopicResender(boost::asio::any_io_executor executor,
                        const Config& config, ParkedKeys& parked_keys,
                        ParkingTable& table, SinkKnowledge& knowledge,
                        std::function<void()> wake);

  // Handles one result, or begins one batch. `through`: no event after it may
  // be sent (WalProgress::settled_through). False: there was nothing to do.
  // Errors are those of the table, and gaps.
  boost::asio::awaitable<absl::StatusOr<bool>> Turn(Position through);

  // Adds the topics that have events, as just read from the table, to
  // `reading`.
  void Describe(const std::vector<IsolatedTopic>& topics,
                ParkedReading& reading) const;
  // True once after all events that wait for a topic were sent: the topic may
  // be released.
  bool TakeIsDrained() { return std::exchange(is_drained_, false); }

  // Ends all batches soon, and closes their sinks.
  boost::asio::awaitable<void> End();

 private:
  struct Drain {
    std::unique_ptr<StoredEventSender> run;
    MonotonicTime next_at{};
    bool is_moving = false;  // its topic has taken the last batch
  };

  boost::asio::awaitable<absl::Status> Begin(std::string topic,
                                             Position through);
  boost::asio::awaitable<absl::Status> Settle(std::string topic,
                                              StoredEventSender::Result result);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  ParkedKeys& parked_keys_;
  ParkingTable& table_;
  SinkKnowledge& knowledge_;
  std::function<void()> wake_;
  std::map<std::string, Drain> drains_;
  bool is_drained_ = false;
};

}  // namespace walpost
