#include "app/sink/delivery_run.h"

#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "app/process/diverted_event_log.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Interval for offering held records again.
constexpr milliseconds kRetryInterval{50};
// For the records of a commit.
constexpr std::chrono::seconds kProduceLimit{30};

}  // namespace

DeliveryRun::DeliveryRun(asio::any_io_executor executor,
                         std::unique_ptr<RecordBuilder> builder,
                         SinkFactory sinks, Options options,
                         std::function<void()> on_drained)
    : sender_(std::move(builder), options.window),
      sinks_(std::move(sinks), std::move(options.sink), sender_,
             [this, on_drained = std::move(on_drained)] {
               timer_.cancel();
               if (on_drained) on_drained();
             }),
      silence_limit_(options.silence_limit),
      timer_(executor) {
  sender_.SetErrorActions(options.on_error.WithoutParking(), LogDivertedEvent);
}

absl::Status DeliveryRun::Start() {
  waiting_since_.reset();
  commit_failure_ = absl::OkStatus();
  is_interrupted_ = false;
  return sinks_.Start();
}

asio::awaitable<absl::Status> DeliveryRun::TakeOver(milliseconds limit) {
  co_return co_await sinks_.TakeOver(limit);
}

asio::awaitable<absl::Status> DeliveryRun::Commit(
    std::span<const Record> last) {
  commit_failure_ = co_await ProduceAll(last);
  if (!commit_failure_.ok()) co_return commit_failure_;
  MonotonicTime deadline = MonotonicTime::max();
  if (silence_limit_) deadline = Clock::now() + *silence_limit_;
  commit_failure_ = co_await sinks_.Commit(deadline);
  co_return commit_failure_;
}

// A sink that has just learnt of a topic takes a record a moment later.
asio::awaitable<absl::Status> DeliveryRun::ProduceAll(
    std::span<const Record> last) {
  const MonotonicTime until = Clock::now() + kProduceLimit;
  for (size_t i = 0; i < last.size();) {
    const absl::Status produced = sinks_.sink()->Produce(last[i], kNoEvent - i);
    if (produced.ok()) {
      ++i;
      continue;
    }
    if (!absl::IsResourceExhausted(produced)) co_return produced;
    if (sender_.sink_failure()) co_return *sender_.sink_failure();
    if (is_interrupted_ || Clock::now() >= until) {
      co_return absl::UnavailableError(produced.message());
    }
    co_await Wait(kRetryInterval);
  }
  co_return absl::OkStatus();
}

asio::awaitable<void> DeliveryRun::Close(MonotonicTime deadline) {
  co_await sinks_.Close(deadline);
}

asio::awaitable<void> DeliveryRun::Wait(milliseconds most) {
  timer_.expires_after(most);
  co_await timer_.async_wait(kAsTuple);
  Tick(Clock::now());
}

void DeliveryRun::Tick(MonotonicTime now) {
  const uint64_t acknowledged = sender_.counters().acknowledged;
  const bool moved = std::exchange(acknowledged_, acknowledged) != acknowledged;
  const bool waits = !sender_.IsDrained() || sender_.held();
  if (moved || !waits) waiting_since_.reset();
  if (waits && !waiting_since_) waiting_since_ = now;
  sender_.RetryHeld();
}

absl::Status DeliveryRun::SinkTrouble(MonotonicTime now) const {
  if (sender_.sink_failure()) return *sender_.sink_failure();
  if (!commit_failure_.ok()) return commit_failure_;
  const bool moved = sender_.counters().acknowledged != acknowledged_;
  if (!silence_limit_ || !waiting_since_ || moved ||
      now - *waiting_since_ < *silence_limit_) {
    return absl::OkStatus();
  }
  const std::string missing = missing_topic();
  return absl::UnavailableError(fmt::format(
      "the brokers have acknowledged nothing for {} s{}",
      silence_limit_->count(),
      missing.empty()
          ? ""
          : fmt::format(": the brokers have not told of topic {}; create it",
                        missing)));
}

}  // namespace walpost
