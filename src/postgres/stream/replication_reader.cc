#include "postgres/stream/replication_reader.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/session_settings.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Time for the server to end the copy after our CopyDone.
constexpr std::chrono::milliseconds kFinishLimit{2000};

}  // namespace

void ReplicationReader::Begin(std::unique_ptr<Connection> connection,
                              WalStream::Start start) {
  connection_ = std::move(connection);
  connection_->TakeWarnings();  // from the setup
  start.requires_utf8 = MayHoldAnyBytes(connection_->server_encoding());
  frames_.emplace(*connection_);
  stream_.Begin(std::move(start), Clock::now(), BootClock::now());
}

asio::awaitable<absl::Status> ReplicationReader::Run() {
  const absl::Status status = co_await ReadToEnd();
  Close();
  co_return status;
}

asio::awaitable<absl::Status> ReplicationReader::ReadToEnd() {
  while (!stream_.is_abandoned()) {
    absl::Status status = stream_.Check(Clock::now(), BootClock::now());
    if (!status.ok()) co_return status;
    const absl::StatusOr<WalStream::Next> next = stream_.TakeFrames(*frames_);
    if (!next.ok()) co_return next.status();
    if (*next == WalStream::Next::kEnd) break;
    if (stream_.DrainIsOver(Clock::now())) co_return co_await FinishInOrder();
    status = stream_.SendStatusIfDue(*frames_);
    if (!status.ok()) co_return status;
    co_await WaitFor(*next);
  }
  co_return absl::OkStatus();
}

asio::awaitable<void> ReplicationReader::WaitFor(WalStream::Next next) {
  if (next == WalStream::Next::kMore) {
    co_await asio::post(executor_, asio::use_awaitable);
    co_return;
  }
  const MonotonicTime until = stream_.WaitUntil(next, Clock::now());
  auto interest = SocketWaiter::Interest::kTimeOnly;
  if (next == WalStream::Next::kReadable) {
    interest = SocketWaiter::Interest::kRead;
  }
  if (frames_->has_unsent()) interest = SocketWaiter::Interest::kWrite;
  co_await connection_->waiter().Wait(interest, until);
}

asio::awaitable<absl::Status> ReplicationReader::FinishInOrder() {
  const absl::Status told = stream_.TellLast(*frames_);
  if (!told.ok()) co_return told;
  const MonotonicTime deadline = Clock::now() + kFinishLimit;
  co_return co_await frames_->Finish(deadline);
}

void ReplicationReader::OnProgress() {
  if (!is_open()) return;
  stream_.OnProgress(Clock::now());
  if (stream_.MustWake()) connection_->waiter().Wake();
}

void ReplicationReader::Close() {
  if (is_open()) stream_.End();
  frames_.reset();
  connection_.reset();
}

}  // namespace walpost
