#include "sim/simulated_process.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "checkpoint/coverage.h"
#include "sim/relations.h"

namespace walpost::sim {
namespace {

constexpr milliseconds kStatusInterval{200};

// Some processes have another configuration, which makes all topics legal.
OutboxOptions DrawOutbox(Random& random, bool has_orders, bool has_letters) {
  OutboxOptions options = SimulatedOutbox(has_orders);
  if (!has_letters) return options;
  options.dead_letter.store = DeadLetterOptions::Store::kPostgres;
  if (random.OneIn(3)) {
    options.route.topic = "outbox.event.{aggregate_type|lower|replace: :-}";
  }
  return options;
}

AcknowledgementWindow::Options DrawWindow(Random& random) {
  AcknowledgementWindow::Options limits;
  limits.max_records = random.Between(1, 60);
  limits.max_bytes = random.Between(1'000, 40'000);
  return limits;
}

TransactionOptions DrawTransactions(Random& random) {
  TransactionOptions options;
  options.is_on = true;
  options.interval = milliseconds(random.Between(10, 500));
  options.idle = milliseconds(random.Below(50));
  options.max_records = random.Between(1, 200);
  options.timeout = std::chrono::seconds(random.Between(1, 60));
  if (random.OneIn(2)) {
    options.boundary = TransactionOptions::Boundary::kSource;
  }
  return options;
}

WalStream::Options StreamOptions() {
  WalStream::Options options;
  options.slot = kSlotName;
  options.status_interval = kStatusInterval;
  options.wal_sender_timeout = SimulatedWalsender::kTimeout;
  options.slot_is_shared = true;
  return options;
}

}  // namespace

SimulatedProcess::SimulatedProcess(World& world, SimulatedServer& server,
                                   SimulatedBrokers& brokers, Checker& checker,
                                   int relay, CheckpointPlace& place,
                                   SimulatedParkedTable& parked)
    : world_(world),
      server_(server),
      brokers_(brokers),
      checker_(checker),
      relay_(relay),
      store_(world, place),
      has_orders_(server.postgres().has_orders() && world.random.OneIn(2)),
      sender_(RecordBuilder::Create(
                  DrawOutbox(world.random, has_orders_, parked.has_letters))
                  .value(),
              DrawWindow(world.random)),
      transactions_(brokers.coordinator().is_used
                        ? std::optional(DrawTransactions(world.random))
                        : std::nullopt),
      batcher_(transactions_ ? std::optional<TransactionBatcher>(*transactions_)
                             : std::nullopt),
      passed_over_(place.is_used ? PassedOverRows::Kept::kInCheckpoints
                                 : PassedOverRows::Kept::kOnRecord),
      checkpoints_(
          place.is_used ? &store_ : nullptr, kStatusInterval, progress_,
          [this] { OnSaved(); }, batcher(), &passed_over_),
      continuity_(kSlotName, progress_,
                  batcher_ && !parked.is_used
                      ? ContinuityState::AfterPromotion::kAtCheckpoint
                      : ContinuityState::AfterPromotion::kAtSlot),
      gated_consumer_(progress_, checkpoints_, passed_over_, pause_gate_,
                      batcher()),
      consumer_(gated_consumer_, checker, relay, has_orders_),
      stream_(StreamOptions(), SimulatedOutbox(has_orders_),
              ReferencesOf(sender_.builder().routes()), consumer_),
      reader_(world, stream_, relay, [this] { OnTurn(); }),
      session_(batcher_ ? RelaySession::Producing::kInTransactions
                        : RelaySession::Producing::kSingly,
               kShutdownTimeout, progress_, checkpoints_, continuity_,
               pause_gate_, stream_, world.random.Below(UINT64_MAX)),
      action_(session_.Begin()) {
  ErrorActions actions;
  const bool parks = parked.is_used && !parked.has_letters;
  const ErrorAction action =
      parks ? ErrorAction::kPark : ErrorAction::kDeadLetter;
  actions.Set(FindErrorClass(kReasonTopicIllegal), action);
  actions.Set(FindErrorClass(kReasonRecordTooLarge), action);
  if (parked.is_used) {
    parking_.emplace(world_, parked, brokers_, relay_, progress_, checkpoints_);
  }
  sender_.SetErrorActions(actions, nullptr);
  if (batcher_) sender_.AwaitCommits(transactions_->boundary);
  if (!place.is_used) continuity_.RelyOnRecord();
}

SimulatedCatalog::Tables SimulatedProcess::tables() const {
  return has_orders_ ? SimulatedCatalog::Tables::kOutboxAndOrders
                     : SimulatedCatalog::Tables::kOutbox;
}

CheckpointScope SimulatedProcess::owner() const {
  CheckpointScope owner = continuity_.owner();
  owner.numbering = has_orders_ ? 2 : 1;
  return owner;
}

// See Relay::NoteTransaction.
void SimulatedProcess::OnSaved() {
  if (batcher_ && checkpoints_.status().ok()) {
    sender_.OnCommitted(WallTime());
    session_.OnDelivered();
  }
  session_.OnReports();
}

bool SimulatedProcess::Turn() {
  const std::optional<absl::Status> result = CarryOut();
  Observe();
  if (result) {
    const bool closed = action_.what == RelaySession::Do::kCloseProducer;
    action_ = session_.Next(*result, world_.now);
    if (closed) NoteClosed();
    NoteGap();
  }
  return action_.what != RelaySession::Do::kEnd;
}

std::optional<absl::Status> SimulatedProcess::CarryOut() {
  using Do = RelaySession::Do;
  switch (action_.what) {
    case Do::kStartProducer:
      StartProducer();
      return absl::OkStatus();
    case Do::kPrepare:
      return absl::OkStatus();
    case Do::kLoadCheckpoint:
      return LoadCheckpoint();
    case Do::kKeepGap:
      return KeepGap();
    case Do::kOpen:
      return Open();
    case Do::kTakeOver:
      return TakeOver();
    case Do::kStream:
      return StreamStep();
    case Do::kCloseProducer:
      return CloseProducer();
    case Do::kWait:
      may_keep_gap_ = true;
      if (world_.now < action_.until && !session_.shutdown_deadline()) {
        return std::nullopt;
      }
      return absl::OkStatus();
    case Do::kEnd:
      break;
  }
  return std::nullopt;
}

void SimulatedProcess::NoteClosed() {
  const bool starts_over = session_.TakeReset();
  world_.Note(relay_, starts_over ? "starts over" : "rewinds");
  if (starts_over || batcher_) checker_.OnFreshStart(relay_);
}

void SimulatedProcess::Watch(MonotonicTime brokers_seen_at) {
  session_.Watch(world_.now);
  if (parking_) parking_->Watch(brokers_seen_at);
  OnReports();
  store_.Step();
  if (producer_ != nullptr) producer_->AwaitCommit(sender_);
  RecordPassedOver();
  if (server_.postgres().catalog().pause() && !world_.random.OneIn(4)) {
    LookAtPause();
  }
  if (!world_.random.OneIn(8) || !stream_.is_open()) return;
  // See PublicationMonitor.
  const std::string change = DescribeChange(
      Coverage::Parse(continuity_.coverage()),
      Coverage::Parse(server_.postgres().catalog().coverage(tables())));
  if (!change.empty()) session_.OnGap(Gap{kGapCoverageChanged, change});
}

void SimulatedProcess::LookAtPause() {
  const std::optional<PauseRecord> record =
      server_.postgres().catalog().pause();
  if (session_.OnPauseRecord(record)) {
    world_.Note(relay_, pause_gate_.is_paused() ? "pauses" : "may send");
  }
  checker_.OnPauseSeen(relay_, record && record->is_paused);
}

// Like MonitorSession.
void SimulatedProcess::RecordPassedOver() {
  if (!passed_over_.is_due() || !stream_.is_open()) return;
  SimulatedPostgres& postgres = server_.postgres();
  std::optional<BirthRecord> record = postgres.catalog().record();
  if (!record) {
    // A backup from before the birth was restored; or a crash has taken the
    // record, which the next start writes.
    if (!postgres.has_orders()) passed_over_.OnRefused({});
    return;
  }
  const PassedOver pending = passed_over_.pending();
  record->coverage = WithPassedOver(record->coverage, pending);
  postgres.SetRecord(*record);
  passed_over_.OnRecorded(pending);
}

void SimulatedProcess::OnReports() {
  checkpoints_.SaveIfDue(world_.now, WallTimeOf(world_.now),
                         session_.is_hurried());
  session_.OnReports();
}

// ---- Like CheckpointService.

std::optional<absl::Status> SimulatedProcess::LoadCheckpoint() {
  if (!checkpoints_.has_store()) return absl::OkStatus();
  store_.Step();
  if (checkpoints_.is_busy()) return std::nullopt;
  absl::Status status;
  store_.Load([&](absl::StatusOr<std::optional<Checkpoint>> loaded) {
    status = loaded.status();
    if (status.ok()) loaded_ = *std::move(loaded);
  });
  if (status.ok() && loaded_) Renumber(*loaded_, owner().numbering);
  return status;
}

// Tries once in a round.
std::optional<absl::Status> SimulatedProcess::KeepGap() {
  if (!checkpoints_.has_store()) return absl::OkStatus();
  store_.Step();
  if (keeps_gap_) return std::nullopt;
  if (checkpoints_.is_busy() || !may_keep_gap_) return absl::OkStatus();
  may_keep_gap_ = false;
  const std::optional<Checkpoint> checkpoint = CheckpointOfGap(
      *continuity_.gap(), loaded_, checkpoints_.saved(), owner(), WallTime());
  if (!checkpoint) return absl::OkStatus();
  keeps_gap_ = true;
  store_.Save(*checkpoint, [this](const absl::Status&) { keeps_gap_ = false; });
  return std::nullopt;
}

// ---- The producer.

void SimulatedProcess::StartProducer() {
  producer_ = std::make_unique<SimulatedProducer>(
      world_, brokers_, checker_, relay_, brokers_.NextProducer(),
      sender_.is_careful());
  sender_.SetSink(producer_.get());
}

std::optional<absl::Status> SimulatedProcess::CloseProducer() {
  if (producer_ == nullptr) return absl::OkStatus();
  if (!producer_->IsIdle()) {
    producer_->AwaitCommit(sender_);
    if (world_.now < action_.until && !batcher_) return std::nullopt;
    world_.Note(relay_, "purges its producer");
    producer_->Purge(sender_);
  }
  sender_.SetSink(nullptr);
  producer_.reset();
  return absl::OkStatus();
}

// ---- Like SourceSetup.

absl::Status SimulatedProcess::Open() {
  continuity_.SetCheckpoint(loaded_);
  // A boundary of whoever wrote it.
  if (loaded_) checker_.OnBoundary(relay_, loaded_->confirmed);
  WALPOST_RETURN_IF_ERROR(Continue());
  if (!server_.postgres().catalog().covers()) {
    return absl::FailedPreconditionError("the publication has no outbox");
  }
  WALPOST_RETURN_IF_ERROR(Begin());
  Connect();
  LookAtPause();
  return absl::OkStatus();
}

// See Relay::Fence.
std::optional<absl::Status> SimulatedProcess::TakeOver() {
  std::optional<absl::Status> status =
      stream_.Check(world_.now, BootTimeOf(world_.now));
  if (status->ok() && batcher_) status = Fence();
  if (!status) return std::nullopt;
  has_fenced_ = false;
  if (status->ok()) {
    BeginStream();
  } else {
    Close();
  }
  return status;
}

std::optional<absl::Status> SimulatedProcess::Fence() {
  if (!has_fenced_) {
    if (world_.random.OneIn(4)) return std::nullopt;
    if (world_.random.OneIn(20)) return absl::UnavailableError("no answer");
    world_.Note(relay_, "takes over");
    producer_->TakeOver();
    has_fenced_ = true;
    before_ = loaded_;
    return std::nullopt;
  }
  const std::optional<absl::Status> loaded = LoadCheckpoint();
  if (!loaded) return std::nullopt;
  if (!loaded->ok() || loaded_ == before_) return loaded;
  world_.Note(relay_, "sees another checkpoint than before");
  return absl::UnavailableError("another instance has committed until now");
}

absl::Status SimulatedProcess::Continue() {
  SimulatedPostgres& postgres = server_.postgres();
  ObservedSource observed;
  observed.system_identifier = kSystemIdentifier;
  observed.timeline = postgres.timeline();
  observed.wal_end = postgres.flushed();
  observed.slot = {.confirmed = postgres.confirmed(), .failover = true};
  observed.coverage = postgres.catalog().coverage(tables());
  continuity_.Observe(std::move(observed), postgres.catalog().record());
  if (const uint32_t left = continuity_.left_timeline()) {
    const Lsn fork = postgres.fork(left);
    continuity_.SetFork(fork);
    // What is confirmed beyond it is shared only up to it.
    if (loaded_ && loaded_->confirmed > fork) checker_.OnBoundary(relay_, fork);
  }
  if (server_.active() != nullptr) {
    WALPOST_RETURN_IF_ERROR(continuity_.OnSlotInUse(true));
    return WithSqlstate(absl::UnavailableError("the slot is in use"),
                        kSqlstateObjectInUse);
  }
  const absl::Status status = continuity_.Continue();
  NoteGap();
  const std::optional<BirthRecord> record = continuity_.RecordOfGap();
  if (continuity_.gap() && record) postgres.SetRecord(*record);
  return status;
}

absl::Status SimulatedProcess::Begin() {
  SimulatedPostgres& postgres = server_.postgres();
  slot_ = postgres.confirmed();
  WALPOST_RETURN_IF_ERROR(continuity_.Begin(slot_));
  const RecordFence fence{postgres.next_xid(), WallTime()};
  if (const auto update = continuity_.UpdatedRecord("", fence)) {
    postgres.SetRecord(update->record);
  }
  if (!continuity_.is_first_start()) return absl::OkStatus();
  BirthRecord record;
  record.slot = kSlotName;
  record.consistent_point = slot_;
  record.system_identifier = kSystemIdentifier;
  record.timeline = postgres.timeline();
  record.streamed_from = postgres.next_xid();
  record.coverage = postgres.catalog().coverage(tables());
  postgres.SetRecord(continuity_.RecordOfBirth(record));
  return absl::OkStatus();
}

void SimulatedProcess::Connect() {
  lsn_history_ = server_.postgres().history();
  checker_.OnStreamStart(relay_);
  checker_.OnBoundary(relay_, slot_);
  continuity_.OnStreaming();
  WalStream::Start start;
  start.slot = slot_;
  reader_.Begin(server_.Connect(slot_), std::move(start));
}

void SimulatedProcess::BeginStream() {
  world_.Note(relay_, "streams, confirmed {:X}, the slot stands at {:X}",
              progress_.confirmed().value(), slot_.value());
  if (batcher_) store_.SetCommitter(producer_.get());
  passed_over_.Begin(Coverage::Parse(continuity_.coverage()).passed_over,
                     loaded_ ? loaded_->confirmed : slot_,
                     progress_.acknowledged_through().commit_lsn);
  checkpoints_.Begin(ContinueFrom(loaded_, owner()));
  if (has_orders_) {
    checker_.OnOrdersStream(std::max(slot_, progress_.confirmed()));
  }
  if (parking_) parking_->Open(slot_);
}

void SimulatedProcess::NoteGap() {
  if (!std::exchange(has_gap_, continuity_.gap().has_value()) && has_gap_) {
    const std::string& code = continuity_.gap()->code;
    checker_.OnGap(relay_, code);
    if (code == kGapServerBehind) {
      world_.Note(relay_, "sees that the server is behind");
    } else if (code == kGapWalForked) {
      world_.Note(relay_, "sees that the WAL has forked");
    } else if (code == kGapCoverageChanged) {
      world_.Note(relay_, "sees that rows were not sent");
    } else if (code == kGapTablePassedOver) {
      world_.Note(relay_, "sees that a table was passed over");
    } else {
      world_.Note(relay_, "sees that the slot was moved");
    }
  }
}

// ---- The stream.

std::optional<absl::Status> SimulatedProcess::StreamStep() {
  std::optional<absl::Status> end = reader_.Step();
  if (!end) return std::nullopt;
  Observe();
  Close();
  return end;
}

void SimulatedProcess::OnTurn() {
  const SimulatedWalsender* active = server_.active();
  checker_.OnTurn(relay_, active != nullptr && active != reader_.walsender());
}

void SimulatedProcess::Close() {
  reader_.Close();
  if (parking_) parking_->End();
  checkpoints_.Pause();
  store_.SetCommitter(nullptr);
}

// ---- State.

bool SimulatedProcess::is_stuck() const {
  return absl::IsFailedPrecondition(session_.trouble()) ||
         session_.poison().is_poison();
}

void SimulatedProcess::Observe() {
  if (has_orders_) checker_.OnOrdersConfirmed(relay_, progress_.confirmed());
  // In transactions, only a stream knows what is confirmed.
  if (batcher_ && action_.what != RelaySession::Do::kStream) return;
  const uint32_t history = progress_.is_history_settled() ? lsn_history_ : 0;
  const Lsn confirmed =
      batcher_ ? checkpoints_.confirmable() : progress_.confirmed();
  checker_.OnConfirmed(relay_, confirmed, history);
}

}  // namespace walpost::sim
