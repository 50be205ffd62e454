// SinkHandle: makes, asks and closes the sink of one sender.
//
//   Start ──▶ SinkListener has a sink ──▶ Close ──▶ it has none; Start ──▶ ...
//
// Runs on the loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/time.h"
#include "delivery/record_sink.h"

namespace walpost {

class SinkHandle {
 public:
  // `user` outlives this object. `on_drained` is called after each portion of
  // reports.
  SinkHandle(SinkFactory sinks, SinkOptions options, SinkListener& user,
             std::function<void()> on_drained);

  // See SinkOptions; for the sinks from now on.
  void SetTransactionalId(std::string id) {
    options_.transactional_id = std::move(id);
  }

  // See SinkOptions; for the sinks from now on.
  void SetOneAtATime(bool is_on) { options_.one_at_a_time = is_on; }

  // Makes a sink, unless there is one. Errors are those of SinkFactory.
  absl::Status Start();

  // See SinkTransactions. Requires a sink with transactions.
  boost::asio::awaitable<absl::Status> TakeOver(
      std::chrono::milliseconds limit);
  // Interrupts it at `deadline`.
  boost::asio::awaitable<absl::Status> Commit(MonotonicTime deadline);
  void Interrupt();

  // Lets the brokers acknowledge the records in flight until `deadline`.
  // Afterwards every record has had its report, and there is no sink.
  boost::asio::awaitable<void> Close(MonotonicTime deadline);

  // The sink; nullptr: there is none.
  Sink* sink() const { return sink_.get(); }
  // Without a sink no broker is up, and `heard_at` keeps advancing, so that the
  // pause does not count as silence of the brokers. A topic that was missing
  // for the last sink is, while the new one has not asked for it itself.
  SinkHealth Health() const;
  NamedCounts AcknowledgedByTopic() const {
    return sink_ == nullptr ? NamedCounts() : sink_->AcknowledgedByTopic();
  }

 private:
  // A new sink asks the brokers for a topic within this time.
  static constexpr std::chrono::seconds kTopicIsRemembered{15};

  std::string RememberedTopic() const;

  SinkFactory sinks_;
  SinkOptions options_;
  SinkListener& user_;
  std::function<void()> on_drained_;
  std::unique_ptr<Sink> sink_;
  MonotonicTime heard_at_;  // by earlier sinks
  MonotonicTime closed_at_;
  MonotonicTime started_at_{};
  std::string missing_topic_;  // of the last sink
};

}  // namespace walpost
