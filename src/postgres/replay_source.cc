#include "postgres/replay_source.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "pgoutput/decoder.h"
#include "postgres/sqlstate.h"
#include "postgres/standby_hold.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Frames per turn, before other work is served.
constexpr size_t kFramesPerTurn = 1000;
// Interval for sending our position and asking for the server's: an idle server
// does not report that it has reached the end.
constexpr milliseconds kFeedbackInterval{500};

}  // namespace

ReplaySource::ReplaySource(asio::any_io_executor executor,
                           const WalSourceOptions& options,
                           const OutboxOptions& outbox,
                           std::vector<std::vector<std::string>> references)
    : executor_(executor),
      options_(options),
      reads_messages_(outbox.messages.enabled()),
      copy_(fmt::format("walpost_replay_{}", getpid())),
      assembler_(outbox, std::move(references)) {}

asio::awaitable<absl::Status> ReplaySource::Stream(ReplayTaker& taker) {
  while (!reached_end_ && !stopped_) {
    const absl::StatusOr<Next> next = TakeFrames(taker);
    if (!next.ok()) co_return next.status();
    const absl::Status health = taker.Health();
    if (!health.ok()) co_return health;
    if (reached_end_) break;
    const MonotonicTime now = Clock::now();
    // While we do not read, the server's silence does not count.
    if (*next == Next::kRoom) heard_at_ = now;
    absl::Status sent = CheckNotSilent(now);
    if (sent.ok()) sent = SendFeedback(taker.done(), now);
    if (!sent.ok()) co_return sent;
    if (*next == Next::kMore) {
      co_await asio::post(executor_, asio::use_awaitable);
      continue;
    }
    MonotonicTime until = told_at_ + kFeedbackInterval;
    auto interest = SocketWaiter::Interest::kRead;
    if (*next == Next::kRoom) {
      interest = SocketWaiter::Interest::kTimeOnly;
      until = std::min(until, taker.retry_at());
    }
    if (stream_->has_unsent()) interest = SocketWaiter::Interest::kWrite;
    co_await connection_->waiter().Wait(interest, until);
  }
  stream_.reset();
  connection_.reset();  // drops the copy, too
  co_return absl::OkStatus();
}

absl::StatusOr<ReplaySource::Next> ReplaySource::TakeFrames(
    ReplayTaker& taker) {
  size_t taken = 0;
  bool received = false;
  while (!reached_end_) {
    if (step_is_held_) Deliver(taker);
    if (step_is_held_ || !taker.CanTake()) return Next::kRoom;
    if (taken == kFramesPerTurn) return Next::kMore;
    const ReplicationStream::Read read = stream_->NextFrame();
    WALPOST_RETURN_IF_ERROR(HandleWarnings());
    switch (read) {
      case ReplicationStream::Read::kFrame:
        ++taken;
        heard_at_ = Clock::now();
        WALPOST_RETURN_IF_ERROR(HandleFrame(taker));
        received = false;
        break;
      case ReplicationStream::Read::kEmpty:
        if (received) return Next::kReadable;
        if (stream_->HasInput()) heard_at_ = Clock::now();
        if (!stream_->Receive()) return stream_->status();
        received = true;
        break;
      case ReplicationStream::Read::kEnded:
        if (!stream_->status().ok()) return stream_->status();
        return absl::UnavailableError(
            "replication stream: the server ended it (it is shutting down)");
    }
  }
  return Next::kMore;
}

// From 18 on the server skips rows that no publication covers.
absl::Status ReplaySource::HandleWarnings() {
  for (const Connection::Warning& warning : connection_->TakeWarnings()) {
    if (warning.sqlstate != kSqlstateNotInPrerequisiteState ||
        StandbyHold::IsMeant(warning.text)) {
      spdlog::warn("Postgres: {}", warning.text);
      continue;
    }
    return absl::FailedPreconditionError(fmt::format(
        "rows were committed while publication {} did not exist, and Postgres "
        "does not send them: {}; publish them from the table with walpost "
        "replay --from-table",
        options_.publication, warning.text));
  }
  return absl::OkStatus();
}

// The server is asked twice a second.
absl::Status ReplaySource::CheckNotSilent(MonotonicTime now) const {
  if (now - heard_at_ < options_.wal_sender_timeout) return absl::OkStatus();
  return absl::UnavailableError(fmt::format(
      "Postgres has sent nothing for {:.0f} s although it was asked; is the "
      "walsender of walpost:replay frozen, or the network cut?",
      std::chrono::duration<double>(now - heard_at_).count()));
}

absl::Status ReplaySource::HandleFrame(ReplayTaker& taker) {
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::ServerFrame frame,
                           pgoutput::DecodeServerFrame(stream_->frame()));
  if (const auto* keepalive = std::get_if<pgoutput::PrimaryKeepalive>(&frame)) {
    if (assembler_.in_transaction()) return absl::OkStatus();
    if (keepalive->wal_end >= range_.to) {
      ReachEnd(taker);
    } else if (keepalive->wal_end > range_.from) {
      taker.OnBoundary(keepalive->wal_end);
    }
    return absl::OkStatus();
  }
  const auto& data = std::get<pgoutput::XLogData>(frame);
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::Message message,
                           pgoutput::Decode(data.payload));
  if (const auto* begin = std::get_if<pgoutput::Begin>(&message)) {
    if (begin->commit_lsn >= range_.to) {
      ReachEnd(taker);
      return absl::OkStatus();
    }
  }
  WALPOST_RETURN_IF_ERROR(assembler_.Apply(message, step_));
  Deliver(taker);
  return absl::OkStatus();
}

void ReplaySource::Deliver(ReplayTaker& taker) {
  step_is_held_ = false;
  const bool is_wanted =
      !range_.since || step_.event.commit_time >= *range_.since;
  if (!is_wanted && step_.kind == Step::Kind::kEvent) ++skipped_;
  switch (step_.kind) {
    case Step::Kind::kNothing:
      return;
    case Step::Kind::kEvent:
      step_is_held_ = is_wanted && !taker.OnEvent(step_.event);
      return;
    case Step::Kind::kUndeliverable:
      step_is_held_ =
          is_wanted && !taker.OnUndeliverable(step_.event, step_.error);
      return;
    case Step::Kind::kTransactionEnd:
      if (step_.end_lsn >= range_.to) {
        ReachEnd(taker);
      } else {
        taker.OnBoundary(step_.end_lsn);
      }
      return;
  }
}

void ReplaySource::ReachEnd(ReplayTaker& taker) {
  taker.OnBoundary(range_.to);
  reached_end_ = true;
}

absl::Status ReplaySource::SendFeedback(Lsn done, MonotonicTime now) {
  if (stream_->has_unsent()) return stream_->Flush();
  if (now - told_at_ < kFeedbackInterval) return absl::OkStatus();
  told_at_ = now;
  pgoutput::StandbyStatus status;
  status.received = done;
  status.confirmed = done;
  status.time = WallNow();
  status.reply_requested = true;
  return stream_->SendStatus(status);
}

void ReplaySource::Stop() {
  stopped_ = true;
  OnProgress();
}

void ReplaySource::OnProgress() {
  if (connection_ != nullptr && stream_) connection_->waiter().Wake();
}

}  // namespace walpost
