#include "postgres/wal_source.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/reason_code.h"
#include "base/session_settings.h"
#include "base/status_macros.h"
#include "checkpoint/coverage.h"
#include "fmt/format.h"
#include "pgoutput/decoder.h"
#include "postgres/sqlstate.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Frames per turn, before other work is served; about a millisecond.
constexpr size_t kFramesPerTurn = 1000;
// libpq may hold decrypted bytes while the socket looks idle: look again.
constexpr milliseconds kMaxWait = SuspensionWatch::kMaxTurn;
// Time without a message from the server after which we ask.
constexpr milliseconds kAskAfter{2500};
// Frames at the start of a connection, before there is anything to decode.
constexpr size_t kSignsOfLife = 3;
// Time for the server to end the copy after our CopyDone.
constexpr milliseconds kFinishLimit{2000};

}  // namespace

WalSource::WalSource(asio::any_io_executor executor, WalSourceOptions options,
                     OutboxOptions outbox, Pipeline& pipeline,
                     const CheckpointWriter& checkpoints)
    : executor_(executor),
      options_(std::move(options)),
      outbox_(std::move(outbox)),
      name_(InstanceName::OfThisProcess(options_.slot)),
      pipeline_(pipeline),
      checkpoints_(checkpoints),
      setup_(options_, outbox_, name_, pipeline_),
      feedback_(options_.status_interval, options_.wal_sender_timeout),
      suspension_watch_(options_.wal_sender_timeout),
      silence_limit_(options_.wal_sender_timeout) {}

asio::awaitable<absl::Status> WalSource::Open() {
  ConnectionOptions connection;
  connection.server = options_.server;
  connection.application_name = name_.text();
  connection.replication = true;
  connection.settings.push_back(fmt::format(
      "wal_sender_timeout={}", options_.wal_sender_timeout.count()));
  drain_deadline_.reset();
  abandoned_ = false;
  is_opening_ = true;
  absl::StatusOr<std::unique_ptr<Connection>> connected =
      co_await Connection::Connect(executor_, connection);
  absl::Status status = connected.status();
  if (status.ok()) {
    connection_ = *std::move(connected);
    status = co_await setup_.Run(*connection_);
  }
  is_opening_ = false;
  if (status.ok()) BeginStream();
  if (!status.ok()) Close();
  co_return status;
}

void WalSource::BeginStream() {
  stream_ = std::make_unique<ReplicationStream>(*connection_);
  assembler_.emplace(outbox_, ReferencesOf(pipeline_.builder().routes()));
  assembler_->Remember(mapped_fields_);
  assembler_->SetTableOids(TableOids(Coverage::Parse(memory().coverage())));
  if (MayHoldAnyBytes(connection_->server_encoding())) {
    assembler_->RequireUtf8();
  }
  connection_->TakeWarnings();  // from the setup
  feedback_ =
      FeedbackSchedule(options_.status_interval, options_.wal_sender_timeout,
                       setup_.slot_position());
  step_is_held_ = false;
  since_receive_ = {};
  frames_received_ = 0;
  server_wal_end_ = Lsn();
  last_received_at_ = Clock::now();
  suspension_watch_.Start(BootClock::now());
}

asio::awaitable<absl::Status> WalSource::Stream() {
  absl::Status status;
  while (status.ok() && !abandoned_) {
    status = CheckNotSuspended();
    if (status.ok()) status = CheckNotSilent();
    if (!status.ok()) break;
    const absl::StatusOr<Next> next = TakeFrames();
    status = next.status();
    if (pipeline_.divergence()) status = *pipeline_.divergence();
    if (!status.ok() || *next == Next::kEnd) break;
    const MonotonicTime now = Clock::now();
    // While we do not read, the server's silence does not count.
    if (*next == Next::kRoom) last_received_at_ = now;
    if (DrainIsOver(now)) {
      status = co_await FinishInOrder();
      break;
    }
    status = SendFeedback(now);
    if (status.ok()) co_await WaitFor(*next);
  }
  Close();
  co_return status;
}

absl::Status WalSource::CheckNotSuspended() {
  const auto gap = suspension_watch_.OnTurn(BootClock::now());
  if (!gap) return absl::OkStatus();
  return absl::AbortedError(fmt::format(
      "this process was suspended for {:.1f} s: another instance may have "
      "taken over slot {}",
      std::chrono::duration<double>(*gap).count(), options_.slot));
}

// A connection that a device on the way has forgotten stays silent for ever. A
// walsender is silent for long in a huge transaction, so the limit doubles.
absl::Status WalSource::CheckNotSilent() {
  if (silence() < silence_limit_) return absl::OkStatus();
  const double seconds = std::chrono::duration<double>(silence_limit_).count();
  silence_limit_ *= 2;
  return absl::UnavailableError(fmt::format(
      "replication stream: nothing came from the server for {:.0f} s although "
      "it was asked: giving the connection up",
      seconds));
}

std::chrono::milliseconds WalSource::silence() const {
  if (stream_ == nullptr) return milliseconds(0);
  return std::chrono::duration_cast<milliseconds>(Clock::now() -
                                                  last_received_at_);
}

absl::StatusOr<WalSource::Next> WalSource::TakeFrames() {
  size_t taken = 0;
  bool received = false;
  for (;;) {
    if (drain_deadline_) return Next::kRoom;
    if (step_is_held_) Deliver();
    if (step_is_held_ || !pipeline_.CanTake()) return Next::kRoom;
    if (taken == kFramesPerTurn) return Next::kMore;
    const ReplicationStream::Read read = stream_->NextFrame();
    // Warnings precede this frame, which must not be confirmed over them.
    WALPOST_RETURN_IF_ERROR(HandleWarnings());
    switch (read) {
      case ReplicationStream::Read::kFrame:
        ++taken;
        since_receive_.Add(stream_->frame().size());
        WALPOST_RETURN_IF_ERROR(HandleFrame());
        received = false;
        break;
      case ReplicationStream::Read::kEmpty: {
        if (received) return Next::kReadable;
        const ReadPacer::Taken got = std::exchange(since_receive_, {});
        if (got.messages > 0) {
          last_received_at_ = Clock::now();
          frames_received_ += got.messages;
          if (frames_received_ > kSignsOfLife) {
            silence_limit_ = options_.wal_sender_timeout;
          }
          pause_ = pacer_.PauseAfter(got, last_received_at_);
          if (pause_ > pause_.zero()) return Next::kPause;
        } else if (stream_->HasInput()) {  // part of a huge row
          last_received_at_ = Clock::now();
        }
        if (!stream_->Receive()) return stream_->status();
        received = true;
        break;
      }
      case ReplicationStream::Read::kEnded:
        if (!stream_->status().ok()) return stream_->status();
        return absl::UnavailableError(
            "replication stream: the server ended it (it is shutting down)");
    }
  }
}

absl::Status WalSource::HandleWarnings() {
  for (const Connection::Warning& warning : connection_->TakeWarnings()) {
    WALPOST_RETURN_IF_ERROR(HandleWarning(warning));
  }
  return absl::OkStatus();
}

absl::Status WalSource::HandleWarning(const Connection::Warning& warning) {
  if (StandbyHold::IsMeant(warning.text)) {
    standby_hold_.OnWarning(warning.text, Clock::now());
    return absl::OkStatus();
  }
  spdlog::warn("Postgres: {}", warning.text);
  if (warning.sqlstate != kSqlstateNotInPrerequisiteState) {
    return absl::OkStatus();
  }
  // From 18 on the server skips rows that no publication covers, and continues.
  return WithReasonCode(
      absl::FailedPreconditionError(fmt::format(
          "rows after {} were committed while publication {} did not exist, "
          "and Postgres does not send them: {}. Make the publication, and let "
          "walpost recover --all publish them",
          pipeline_.confirmed().ToString(), options_.publication,
          warning.text)),
      kReasonPublicationMissing);
}

absl::Status WalSource::HandleFrame() {
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::ServerFrame frame,
                           pgoutput::DecodeServerFrame(stream_->frame()));
  if (const auto* data = std::get_if<pgoutput::XLogData>(&frame)) {
    return HandleMessage(*data);
  }
  const auto& keepalive = std::get<pgoutput::PrimaryKeepalive>(frame);
  server_wal_end_ = std::max(server_wal_end_, keepalive.wal_end);
  if (!assembler_->in_transaction()) {
    pipeline_.OnKeepalive(keepalive.wal_end);
  }
  if (keepalive.reply_requested) feedback_.OnReplyRequested();
  return absl::OkStatus();
}

absl::Status WalSource::HandleMessage(const pgoutput::XLogData& data) {
  standby_hold_.Clear();
  server_wal_end_ = std::max(server_wal_end_, data.start_lsn);
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::Message message,
                           pgoutput::Decode(data.payload));
  WALPOST_RETURN_IF_ERROR(assembler_->Apply(message, step_));
  Deliver();
  return absl::OkStatus();
}

void WalSource::Deliver() {
  step_is_held_ = false;
  switch (step_.kind) {
    case Step::Kind::kNothing:
      return;
    case Step::Kind::kEvent:
      step_is_held_ = pipeline_.OnEvent(step_.event) == Pipeline::Offer::kHold;
      return;
    case Step::Kind::kUndeliverable:
      step_is_held_ = pipeline_.OnUndeliverable(step_.event, step_.error) ==
                      Pipeline::Offer::kHold;
      return;
    case Step::Kind::kTransactionEnd:
      pipeline_.OnTransactionEnd(step_.end_lsn);
      return;
  }
}

absl::Status WalSource::SendFeedback(MonotonicTime now) {
  const Lsn confirmed = Confirmable();
  if (stream_->has_unsent()) return stream_->Flush();
  if (!feedback_.IsDue(confirmed, now)) return absl::OkStatus();
  pgoutput::StandbyStatus status;
  status.received = std::max(server_wal_end_, confirmed);
  status.confirmed = feedback_.ToTell(confirmed);
  status.time = WallNow();
  status.reply_requested = now - last_received_at_ > kAskAfter;
  feedback_.OnSent(confirmed, now);
  return stream_->SendStatus(status);
}

// A server with another WAL than the known one would drop it if confirmed.
Lsn WalSource::Confirmable() const {
  return pipeline_.is_history_settled() ? checkpoints_.confirmable()
                                        : setup_.slot_position();
}

bool WalSource::IsDrained() const {
  return pipeline_.window().empty() &&
         checkpoints_.confirmable() == pipeline_.confirmed();
}

bool WalSource::DrainIsOver(MonotonicTime now) const {
  return drain_deadline_ && (IsDrained() || now >= *drain_deadline_);
}

asio::awaitable<void> WalSource::WaitFor(Next next) {
  if (next == Next::kMore) {
    co_await asio::post(executor_, asio::use_awaitable);
    co_return;
  }
  const MonotonicTime now = Clock::now();
  MonotonicTime until =
      std::min(feedback_.DueAt(Confirmable()), now + kMaxWait);
  if (drain_deadline_) until = std::min(until, *drain_deadline_);
  auto interest = SocketWaiter::Interest::kTimeOnly;
  if (next == Next::kPause) until = std::min(until, now + pause_);
  if (next == Next::kReadable) interest = SocketWaiter::Interest::kRead;
  if (stream_->has_unsent()) interest = SocketWaiter::Interest::kWrite;
  waiting_for_room_ = next == Next::kRoom;
  waiting_until_ = until;
  co_await connection_->waiter().Wait(interest, until);
  waiting_for_room_ = false;
  waiting_until_ = {};
}

void WalSource::OnProgress() {
  if (connection_ == nullptr || stream_ == nullptr) return;
  const bool room = waiting_for_room_ && pipeline_.CanTake();
  const bool drained = drain_deadline_ && IsDrained();
  const bool news = feedback_.DueAt(Confirmable()) < waiting_until_;
  if (room || drained || news) connection_->waiter().Wake();
}

void WalSource::Drain(MonotonicTime deadline) {
  if (!drain_deadline_ || deadline < *drain_deadline_) {
    drain_deadline_ = deadline;
  }
  if (connection_ != nullptr) connection_->waiter().Wake();
}

void WalSource::Abandon() {
  abandoned_ = true;
  if (connection_ != nullptr) connection_->waiter().Wake();
}

asio::awaitable<absl::Status> WalSource::FinishInOrder() {
  pgoutput::StandbyStatus last;
  last.received = std::max(server_wal_end_, Confirmable());
  last.confirmed = feedback_.ToTell(Confirmable());
  last.time = WallNow();
  absl::Status status = stream_->SendStatus(last);
  if (!status.ok()) co_return status;
  const MonotonicTime deadline = Clock::now() + kFinishLimit;
  co_return co_await stream_->Finish(deadline);
}

TransactionAssembler::Skipped WalSource::skipped() const {
  TransactionAssembler::Skipped skipped = skipped_before_;
  if (assembler_) skipped += assembler_->skipped();
  return skipped;
}

bool WalSource::TakeStartOver() {
  const bool must_start_over = setup_.TakeStartOver();
  if (must_start_over) mapped_fields_.clear();  // their LSNs are void
  return must_start_over;
}

void WalSource::Close() {
  skipped_before_ = skipped();
  if (assembler_) mapped_fields_ = assembler_->mapped_fields();
  standby_hold_.Clear();
  stream_.reset();
  assembler_.reset();
  step_is_held_ = false;
  connection_.reset();
}

}  // namespace walpost
