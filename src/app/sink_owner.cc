#include "app/sink_owner.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/status_macros.h"

namespace walpost {

namespace asio = boost::asio;

SinkOwner::SinkOwner(SinkFactory sinks, SinkOptions options, SinkUser& user,
                     std::function<void()> on_drained)
    : sinks_(std::move(sinks)),
      options_(std::move(options)),
      user_(user),
      on_drained_(std::move(on_drained)) {}

absl::Status SinkOwner::Start() {
  if (sink_ != nullptr) return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(sink_, sinks_(options_, user_, on_drained_));
  user_.SetSink(sink_.get());
  return absl::OkStatus();
}

asio::awaitable<void> SinkOwner::Close(MonotonicTime deadline) {
  if (sink_ == nullptr) co_return;
  constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer closed(executor, MonotonicTime::max());
  user_.SetSink(nullptr);
  sink_->Close(deadline, [&closed] { closed.cancel(); });
  co_await closed.async_wait(kAsTuple);
  sink_.reset();
}

SinkHealth SinkOwner::Health() const {
  return sink_ == nullptr ? SinkHealth() : sink_->Health();
}

}  // namespace walpost
