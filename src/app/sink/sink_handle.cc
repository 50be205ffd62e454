#include "app/sink/sink_handle.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

SinkHandle::SinkHandle(SinkFactory sinks, SinkOptions options,
                       SinkListener& user, std::function<void()> on_drained)
    : sinks_(std::move(sinks)),
      options_(std::move(options)),
      user_(user),
      on_drained_(std::move(on_drained)),
      heard_at_(Clock::now()),
      closed_at_(heard_at_) {}

namespace {

// The answer to a call of SinkTransactions, for a coroutine.
class Answer {
 public:
  explicit Answer(const asio::any_io_executor& executor) : given_(executor) {}

  SinkTransactions::Done Take() {
    return [this](absl::Status status) {
      status_ = std::move(status);
      given_.cancel();
    };
  }
  asio::awaitable<absl::Status> Wait() {
    co_await WaitUntil(MonotonicTime::max());
    co_return *status_;
  }
  // False: it was not given until `deadline`.
  asio::awaitable<bool> WaitUntil(MonotonicTime deadline) {
    while (!status_ && Clock::now() < deadline) {
      given_.expires_at(deadline);
      co_await given_.async_wait(kAsTuple);
    }
    co_return status_.has_value();
  }

 private:
  asio::steady_timer given_;
  std::optional<absl::Status> status_;
};

}  // namespace

absl::Status SinkHandle::Start() {
  if (sink_ != nullptr) return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(sink_, sinks_(options_, user_, on_drained_));
  started_at_ = Clock::now();
  heard_at_ += started_at_ - closed_at_;
  user_.SetSink(sink_.get());
  return absl::OkStatus();
}

asio::awaitable<absl::Status> SinkHandle::TakeOver(
    std::chrono::milliseconds limit) {
  Answer answer(co_await asio::this_coro::executor);
  sink_->transactions()->TakeOver(limit, answer.Take());
  co_return co_await answer.Wait();
}

asio::awaitable<absl::Status> SinkHandle::Commit(MonotonicTime deadline) {
  Answer answer(co_await asio::this_coro::executor);
  sink_->transactions()->Commit(answer.Take());
  const bool is_given = co_await answer.WaitUntil(deadline);
  if (!is_given) Interrupt();
  co_return co_await answer.Wait();
}

void SinkHandle::Interrupt() {
  if (sink_ == nullptr || sink_->transactions() == nullptr) return;
  sink_->transactions()->Interrupt();
}

asio::awaitable<void> SinkHandle::Close(MonotonicTime deadline) {
  if (sink_ == nullptr) co_return;
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer closed(executor, MonotonicTime::max());
  user_.SetSink(nullptr);
  sink_->Close(deadline, [&closed] { closed.cancel(); });
  co_await closed.async_wait(kAsTuple);
  const SinkHealth last = Health();
  heard_at_ = last.heard_at;
  missing_topic_ = last.missing_topic;
  closed_at_ = Clock::now();
  sink_.reset();
}

SinkHealth SinkHandle::Health() const {
  SinkHealth health;
  if (sink_ == nullptr) {
    health.heard_at = heard_at_ + (Clock::now() - closed_at_);
    health.missing_topic = missing_topic_;
    return health;
  }
  health = sink_->Health();
  health.heard_at = std::max(health.heard_at, heard_at_);
  if (health.missing_topic.empty()) health.missing_topic = RememberedTopic();
  return health;
}

std::string SinkHandle::RememberedTopic() const {
  if (missing_topic_.empty()) return "";
  if (Clock::now() - started_at_ >= kTopicIsRemembered) return "";
  bool is_back = false;
  sink_->AcknowledgedByTopic().ForEach(
      [&](std::string_view topic, uint64_t records) {
        is_back |= topic == missing_topic_ && records > 0;
      });
  return is_back ? "" : missing_topic_;
}

}  // namespace walpost
