#include "session/wal_stream.h"

#include <algorithm>
#include <utility>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "pgoutput/decoder.h"

namespace walpost {

using std::chrono::milliseconds;

namespace {

// Frames per turn, before other work is served; about a millisecond.
constexpr size_t kFramesPerTurn = 1000;
// libpq may hold decrypted bytes while the socket looks idle: look again.
constexpr milliseconds kMaxWait = ProcessSuspendDetector::kMaxTurn;

FeedbackSchedule MakeFeedback(const WalStream::Options& options, Lsn slot) {
  if (options.ask_interval == milliseconds(0)) {
    return {options.status_interval, options.wal_sender_timeout, slot};
  }
  return {options.ask_interval, 3 * options.ask_interval, slot};
}

}  // namespace

WalStream::WalStream(Options options, OutboxOptions outbox,
                     std::vector<std::vector<std::string>> references,
                     EventConsumer& consumer)
    : options_(std::move(options)),
      outbox_(std::move(outbox)),
      references_(std::move(references)),
      consumer_(consumer),
      silence_(options_.wal_sender_timeout),
      feedback_(MakeFeedback(options_, Lsn())),
      process_suspend_detector_(options_.wal_sender_timeout),
      pacer_(options_.latency_target) {}

void WalStream::Begin(Start start, MonotonicTime now, BootTime boot_now) {
  assembler_.emplace(outbox_, references_);
  assembler_->Remember(mapped_fields_);
  assembler_->SetTableOids(std::move(start.table_oids),
                           std::move(start.former_names));
  if (start.requires_utf8) assembler_->RequireUtf8();
  if (start.base_types) {
    for (const uint32_t type : asked_types_) {
      start.base_types->Add(type, kDroppedTypeOid);
    }
    assembler_->SetBaseTypes(*std::move(start.base_types));
    assembler_->SetAskedColumns(asked_columns_);
  }
  slot_ = start.slot;
  end_ = start.end;
  feedback_ = MakeFeedback(options_, slot_);
  silence_.Start(now);
  process_suspend_detector_.Start(boot_now);
  step_is_held_ = false;
  since_receive_ = {};
  pacer_ = ReadPacer(options_.latency_target);
  server_wal_end_ = Lsn();
  server_clock_.Reset();
  reached_end_ = false;
  new_table_.clear();
  is_abandoned_ = false;
  drain_deadline_.reset();
}

void WalStream::End() {
  skipped_before_ = skipped();
  if (assembler_) mapped_fields_ = assembler_->mapped_fields();
  assembler_.reset();
  standby_wait_.Clear();
}

absl::Status WalStream::Check(MonotonicTime now, BootTime boot_now) {
  waits_for_room_ = false;
  waits_until_ = {};
  const auto asleep = process_suspend_detector_.OnTurn(boot_now);
  if (asleep && options_.slot_is_shared) {
    return absl::AbortedError(fmt::format(
        "this process was suspended for {:.1f} s: another instance may have "
        "taken over slot {}",
        std::chrono::duration<double>(*asleep).count(), options_.slot));
  }
  const auto silent = silence_.OnTurn(now);
  if (!silent) return absl::OkStatus();
  return absl::UnavailableError(fmt::format(
      "replication stream: Postgres has sent nothing for {:.0f} s although it "
      "was asked: is the walsender of {} frozen, or the network cut?",
      std::chrono::duration<double>(*silent).count(),
      options_.application_name));
}

absl::StatusOr<WalStream::Next> WalStream::TakeFrames(FrameSource& source) {
  const absl::StatusOr<Next> next = TakeSome(source);
  WALPOST_RETURN_IF_ERROR(consumer_.Health());
  // While we do not read, the server's silence does not count.
  if (next.ok() && *next == Next::kRoom) silence_.OnSign(source.Now());
  return next;
}

absl::StatusOr<WalStream::Next> WalStream::TakeSome(FrameSource& source) {
  size_t taken = 0;
  bool received = false;
  for (;;) {
    if (reached_end_ || is_abandoned_) return Next::kEnd;
    if (drain_deadline_) return Next::kRoom;
    if (step_is_held_) Deliver();
    if (step_is_held_ || !consumer_.CanTake()) return Next::kRoom;
    if (taken == kFramesPerTurn) return Next::kMore;
    const FrameSource::Read read = source.NextFrame();
    // Warnings precede this frame, which must not be confirmed over them.
    WALPOST_RETURN_IF_ERROR(HandleWarnings(source));
    switch (read) {
      case FrameSource::Read::kFrame:
        ++taken;
        since_receive_.Add(source.frame().size());
        WALPOST_RETURN_IF_ERROR(HandleFrame(source.frame()));
        received = false;
        break;
      case FrameSource::Read::kEmpty:
        if (received) {
          pause_ = pacer_.PauseAtEnd(source.Now());
          return pause_ > pause_.zero() ? Next::kPause : Next::kReadable;
        }
        if (since_receive_.messages > 0) {
          NoteReceived(source.Now());
          if (pause_ > pause_.zero()) return Next::kPause;
        } else if (source.HasInput()) {  // part of a huge row
          silence_.OnSign(source.Now());
        }
        if (!source.Receive()) return source.status();
        received = true;
        break;
      case FrameSource::Read::kEnded:
        if (!source.status().ok()) return source.status();
        return absl::UnavailableError(
            "replication stream: the server ended it (it is shutting down)");
    }
  }
}

void WalStream::NoteReceived(MonotonicTime now) {
  const ReadPacer::Taken got = std::exchange(since_receive_, {});
  silence_.OnFrames(got.messages, now);
  server_clock_.OnSent(sent_, now);
  pause_ = pacer_.PauseAfter(got, now);
}

absl::Status WalStream::HandleWarnings(FrameSource& source) {
  for (const ServerWarning& warning : source.TakeWarnings()) {
    if (StandbyWait::IsMeant(warning.text)) {
      standby_wait_.OnWarning(warning.text, source.Now());
    } else if (warning.rows_are_missing) {
      const std::string text = fmt::format(
          "rows after {} were committed while publication {} did not exist, "
          "and Postgres does not send them: {}. {}",
          Confirmable().ToString(), options_.publication, warning.text,
          options_.remedy);
      return WithReasonCode(absl::FailedPreconditionError(text),
                            kReasonPublicationMissing);
    }
  }
  return absl::OkStatus();
}

absl::Status WalStream::HandleFrame(std::string_view bytes) {
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::ServerFrame frame,
                           pgoutput::DecodeServerFrame(bytes));
  if (const auto* data = std::get_if<pgoutput::XLogData>(&frame)) {
    sent_ = data->send_time;
    return HandleMessage(*data);
  }
  HandleKeepalive(std::get<pgoutput::PrimaryKeepalive>(frame));
  return absl::OkStatus();
}

void WalStream::HandleKeepalive(const pgoutput::PrimaryKeepalive& keepalive) {
  sent_ = keepalive.send_time;
  server_wal_end_ = std::max(server_wal_end_, keepalive.wal_end);
  if (keepalive.reply_requested) feedback_.OnReplyRequested();
  if (assembler_->in_transaction()) return;
  if (IsAtEnd(keepalive.wal_end)) return ReachEnd();
  consumer_.OnKeepalive(keepalive.wal_end);
}

absl::Status WalStream::HandleMessage(const pgoutput::XLogData& data) {
  standby_wait_.Clear();
  server_wal_end_ = std::max(server_wal_end_, data.start_lsn);
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::Message message,
                           pgoutput::Decode(data.payload));
  if (const auto* begin = std::get_if<pgoutput::Begin>(&message)) {
    if (IsAtEnd(begin->commit_lsn)) {
      ReachEnd();
      return absl::OkStatus();
    }
  }
  const absl::Status applied = assembler_->Apply(message, step_);
  if (!applied.ok()) {
    const uint32_t type = assembler_->unknown_type();
    if (type != 0) asked_types_.insert(type);
    const std::string& column = assembler_->unknown_column();
    if (!column.empty()) asked_columns_.insert(column);
    return applied;
  }
  if (step_.kind == Step::Kind::kNewTable) return StopAtNewTable();
  Deliver();
  return absl::OkStatus();
}

// Its rows are not confirmed, and come again.
absl::Status WalStream::StopAtNewTable() {
  if (!options_.stops_at_new_tables) {
    return absl::FailedPreconditionError(fmt::format(
        "the WAL has rows of table {0}, which matches a pattern of "
        "outbox.tables and is not among the tables of the database as this "
        "command began: run it again; if the table was dropped, list {0} in "
        "outbox.tables by its own name for this command",
        step_.relation.name));
  }
  new_table_ = step_.relation.name;
  Drain(MonotonicTime::max());
  return absl::OkStatus();
}

void WalStream::Deliver() {
  step_is_held_ = false;
  switch (step_.kind) {
    case Step::Kind::kNothing:
    case Step::Kind::kNewTable:  // handled where it is found
      return;
    case Step::Kind::kEvent:
    case Step::Kind::kUndeliverable:
      step_is_held_ = consumer_.OnEvent(step_.event, step_.error) ==
                      EventConsumer::Offer::kBackpressure;
      if (!step_is_held_) ++since_receive_.events;
      return;
    case Step::Kind::kTransactionEnd:
      if (IsAtEnd(step_.end_lsn)) return ReachEnd();
      return consumer_.OnTransactionEnd(step_.end_lsn);
    case Step::Kind::kPassedOver:
      if (consumer_.OnPassedOver(step_.relation)) {
        assembler_->PassOver(step_.relation.oid);
      }
      return;
  }
}

void WalStream::ReachEnd() {
  consumer_.OnTransactionEnd(end_);
  reached_end_ = true;
}

// A server with another WAL than the known one would drop it if confirmed.
Lsn WalStream::Confirmable() const {
  const Lsn confirmable = consumer_.confirmable();
  return confirmable.is_valid() ? confirmable : slot_;
}

StatusUpdate WalStream::Update() const {
  const Lsn confirmable = Confirmable();
  StatusUpdate update;
  update.received = std::max(server_wal_end_, confirmable);
  update.confirmed = feedback_.ToTell(confirmable);
  return update;
}

absl::Status WalStream::SendStatusIfDue(FrameSource& source) {
  const MonotonicTime now = source.Now();
  if (source.has_unsent()) return source.Flush();
  if (!feedback_.IsDue(Confirmable(), now)) return absl::OkStatus();
  StatusUpdate update = Update();
  update.reply_requested =
      options_.ask_interval > milliseconds(0) || silence_.MustAsk(now);
  feedback_.OnSent(Confirmable(), now);
  return source.SendStatus(update);
}

absl::Status WalStream::TellLast(FrameSource& source) {
  return source.SendStatus(Update());
}

MonotonicTime WalStream::WaitUntil(Next next, MonotonicTime now) {
  MonotonicTime until =
      std::min(feedback_.DueAt(Confirmable()), now + kMaxWait);
  if (drain_deadline_) until = std::min(until, *drain_deadline_);
  if (next == Next::kPause) until = std::min(until, now + pause_);
  waits_for_room_ = next == Next::kRoom;
  if (waits_for_room_) until = std::min(until, consumer_.retry_at());
  waits_until_ = until;
  return until;
}

bool WalStream::MustWake() const {
  if (!is_open()) return false;
  if (is_abandoned_ || (waits_for_room_ && consumer_.CanTake())) return true;
  if (drain_deadline_ && consumer_.IsDrained()) return true;
  return feedback_.DueAt(Confirmable()) < waits_until_;
}

void WalStream::Drain(MonotonicTime deadline) {
  if (!is_open()) return;
  drain_deadline_ = std::min(deadline, drain_deadline_.value_or(deadline));
}

bool WalStream::DrainIsOver(MonotonicTime now) const {
  return drain_deadline_ && (consumer_.IsDrained() || now >= *drain_deadline_);
}

milliseconds WalStream::silence(MonotonicTime now) const {
  return is_open() ? silence_.Length(now) : milliseconds(0);
}

TransactionAssembler::Skipped WalStream::skipped() const {
  TransactionAssembler::Skipped skipped = skipped_before_;
  if (assembler_) skipped += assembler_->skipped();
  return skipped;
}

}  // namespace walpost
