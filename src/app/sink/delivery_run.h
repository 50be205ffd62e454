// DeliveryRun: sends the events of a source that ends, such as a table or a
// range of the WAL.
//
//   source ──▶ Sender ──▶ Sink
//     └── Wait, SinkTrouble
//
// It owns the sender and its sink, and knows why they cannot continue. Runs
// on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "app/sink/sink_handle.h"
#include "base/time.h"
#include "delivery/record_sink.h"
#include "delivery/sender.h"

namespace walpost {

class DeliveryRun {
 public:
  // Time without an acknowledgement after which a verb gives the brokers up.
  static constexpr std::chrono::seconds kSilenceLimit{60};

  struct Options {
    AcknowledgementWindow::Options window;
    SinkOptions sink;
    // nullopt: waits for the brokers forever.
    std::optional<std::chrono::seconds> silence_limit;
    // Actions for events that cannot be delivered; each such event is logged.
    ErrorActions on_error;
  };

  // `on_drained` is called after each portion of reports.
  DeliveryRun(boost::asio::any_io_executor executor,
              std::unique_ptr<RecordBuilder> builder, SinkFactory sinks,
              Options options, std::function<void()> on_drained);

  Sender& sender() { return sender_; }
  const Sender& sender() const { return sender_; }

  // Makes a sink, unless there is one. Errors are those of SinkFactory.
  absl::Status Start();
  // See SinkTransactions: for a sink with transactions, once it has started.
  boost::asio::awaitable<absl::Status> TakeOver(
      std::chrono::milliseconds limit);
  // Commits what the sender has sent, with some more records. After an error
  // SinkTrouble has it: kUnavailable, if there was no answer for the time of
  // silence_limit.
  boost::asio::awaitable<absl::Status> Commit(std::span<const Record> last);
  // Gives up what the brokers do not acknowledge until `deadline`.
  boost::asio::awaitable<void> Close(MonotonicTime deadline);

  // Waits for reports, at most for `most`. Then offers held records again.
  boost::asio::awaitable<void> Wait(std::chrono::milliseconds most);
  // Ends the current Wait.
  void Wake() { timer_.cancel(); }
  // Ends the current Wait, and a TakeOver or Commit under way, because the sink
  // will be closed.
  void Interrupt() {
    is_interrupted_ = true;
    Wake();
    sinks_.Interrupt();
  }

  // Call it a few times a second while something waits for the brokers; Wait
  // does. Time without calls does not count as silence of the brokers.
  void Tick(MonotonicTime now);

  // Why the sink makes no progress: it has failed, or the brokers have
  // acknowledged nothing for too long, as of the Ticks so far (kUnavailable).
  // Ok: it may make progress.
  absl::Status SinkTrouble(MonotonicTime now) const;
  bool has_brokers() const { return sinks_.Health().brokers_up > 0; }
  // A topic unknown to the brokers that records wait for; or empty.
  std::string missing_topic() const { return sinks_.Health().missing_topic; }

 private:
  boost::asio::awaitable<absl::Status> ProduceAll(std::span<const Record> last);

  Sender sender_;
  SinkHandle sinks_;
  std::optional<std::chrono::seconds> silence_limit_;
  boost::asio::steady_timer timer_;
  absl::Status commit_failure_;
  bool is_interrupted_ = false;
  uint64_t acknowledged_ = 0;  // as of the last Tick
  // Time since which records wait without an acknowledgement; nullopt: none
  // waits.
  std::optional<MonotonicTime> waiting_since_;
};

}  // namespace walpost
