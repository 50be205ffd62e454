// ParkedEventService: stores parked events, and sends those that an operator
// has released.
//
//   Sender ──▶ ParkedKeys ──▶ ParkingTable ──▶ StoredEventSender ──▶ Kafka
//                    ▲               │  ▲             │
//                    └── released ◀──┘  └── result ◀──┘
//
// The IsolatedTopicResender sends events that wait for isolated topics, and the
// DeadLetterRetrier dead letters of the table.
//
// It is open as long as a stream: Open before its first event, Begin, End. If
// the table is lost in between, the stream must also end, and load it again.
//
// Idle unless parking is configured or parked events remain.
//
// Owned by the Relay, on its loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/stored/dead_letter_retrier.h"
#include "app/stored/isolated_topic_resender.h"
#include "app/stored/stored_event_sender.h"
#include "base/near_limit.h"
#include "config/config.h"
#include "delivery/sink_knowledge.h"
#include "delivery/wal_progress.h"
#include "health/parking_report.h"
#include "parking/isolation_timer.h"
#include "parking/parked_keys.h"
#include "postgres/parking/parking_table.h"

namespace walpost {

class ParkedEventService {
 public:
  struct Callbacks {
    // The table is lost, or a gap was found.
    std::function<void(const absl::Status&)> on_lost;
    // The stream may take more, or confirm more.
    std::function<void()> on_progress;
    // Whether records may go to Kafka now.
    std::function<bool()> may_release;
    // An operator has paused the slot: no topic is at fault.
    std::function<bool()> is_paused;
    // CheckpointWriter::settled_through.
    std::function<Position()> settled_through;
  };

  // All arguments outlive this object. `knowledge`: that of the sinks of the
  // stream.
  ParkedEventService(boost::asio::any_io_executor executor,
                     const Config& config, uint64_t numbering,
                     WalProgress& progress, SinkKnowledge& knowledge,
                     Callbacks callbacks);

  // Takes the table over from any other instance, and tells the sender what
  // is parked; each time, because another instance may have parked events
  // since. Requires the slot. `on_record`: the birth record's parked_table.
  // Errors are those of ParkingTable::Open.
  boost::asio::awaitable<absl::Status> Open(std::string system_identifier,
                                            ParkedTable on_record);
  void Begin();
  // Returns when no coroutine of it runs any more.
  boost::asio::awaitable<void> End();

  // Call it a few times a second: isolates a topic that holds up the flow, and
  // warns when parking.max_keys is near.
  // `brokers_seen_at`: when the brokers answered last.
  void Watch(MonotonicTime brokers_seen_at, MonotonicTime now);
  void OnTurnOfOthers(MonotonicTime now) { isolation_.OnTurnOfOthers(now); }

  ParkingReport report() const;
  // The session that waits for an answer; 0: none, or not for long.
  int waiting_pid() const;

 private:
  boost::asio::awaitable<absl::Status> Load();
  boost::asio::awaitable<void> Serve();
  boost::asio::awaitable<absl::Status> Turn();
  boost::asio::awaitable<absl::Status> Store();
  boost::asio::awaitable<absl::Status> Look();
  boost::asio::awaitable<absl::Status> Read();
  boost::asio::awaitable<absl::Status> Settle(StoredEventSender::Result result);
  boost::asio::awaitable<absl::StatusOr<bool>> SendFreeEvents();
  boost::asio::awaitable<void> Wait();
  boost::asio::awaitable<void> Abandon();
  ParkedReading Describe(const std::vector<ParkedRow>& rows) const;
  void LogReleased(size_t count);
  void Wake();
  void Progress();

  boost::asio::any_io_executor executor_;
  const Config& config_;
  WalProgress& progress_;
  Sender& sender_;
  Callbacks callbacks_;
  ParkedKeys parked_keys_;
  ParkingTable table_;
  std::unique_ptr<StoredEventSender> release_;
  IsolatedTopicResender drains_;
  DeadLetterRetrier retries_;
  IsolationTimer isolation_;
  NearLimit near_max_keys_;
  std::vector<ParkedLane> lanes_;  // as last read
  std::vector<IsolatedTopic> topics_;

  bool is_serving_ = false;
  bool is_stopped_ = false;
  bool is_woken_ = false;
  MonotonicTime read_at_{};     // when to look for events to send
  MonotonicTime counted_at_{};  // lanes_
  // The dead events before the last Read, and whether everything waited behind
  // them: then nothing is to be sent while they are the same.
  std::string dead_;
  bool all_wait_for_dead_ = false;
  MonotonicTime wait_until_{};  // for lanes that are leaving
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer ended_;
};

}  // namespace walpost
