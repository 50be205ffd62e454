#include "app/live/relay.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <random>
#include <utility>

#include "absl/strings/strip.h"
#include "app/live/existing_rows_warning.h"
#include "app/process/diverted_event_log.h"
#include "app/sink/sinks.h"
#include "base/error_source.h"
#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "delivery/gap.h"
#include "delivery/transactional_id.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "outbox/numbering.h"
#include "outbox/table_pattern.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Limit for the first answer of the brokers, before a stream.
constexpr milliseconds kClusterLimit{2000};
constexpr milliseconds kClusterPoll{20};
// Limit for fencing earlier instances. The stream has begun, and waits.
constexpr std::chrono::seconds kTakeOverLimit{8};

// A parked event is settled, but the new primary may lack its row.
ContinuityState::AfterPromotion AfterPromotion(const Config& config) {
  return config.transactions.is_on && !config.parks()
             ? ContinuityState::AfterPromotion::kAtCheckpoint
             : ContinuityState::AfterPromotion::kAtSlot;
}

Config With(Config config, OutboxOptions outbox) {
  config.outbox = std::move(outbox);
  return config;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Relay>> Relay::Create(
    asio::any_io_executor executor, const Config& config,
    const TableExpansion& before) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(before.outbox));
  std::unique_ptr<Relay> relay(new Relay(executor, With(config, before.outbox),
                                         before, std::move(builder)));
  if (config.transactions.is_on) {
    WALPOST_RETURN_IF_ERROR(CheckSinkOptions(config));
  } else {
    WALPOST_RETURN_IF_ERROR(relay->StartSink());
  }
  return relay;
}

Relay::Relay(asio::any_io_executor executor, const Config& config,
             const TableExpansion& before,
             std::unique_ptr<RecordBuilder> builder)
    : executor_(executor),
      before_(before),
      config_(config),
      present_(With(config, WithoutDropped(config.outbox))),
      numbering_(NumberingOf(config.outbox, config.postgres.publication)),
      sender_(std::move(builder), config.window),
      batcher_(config.transactions.is_on
                   ? std::optional<TransactionBatcher>(config.transactions)
                   : std::nullopt),
      passed_over_(config.checkpoint.has_store()
                       ? PassedOverRows::Kept::kInCheckpoints
                       : PassedOverRows::Kept::kOnRecord),
      knowledge_(MakeSinkKnowledge(executor, config)),
      sinks_(knowledge_->Sinks(), SinkOptions(), sender_,
             [this] { OnDrained(); }),
      checkpoints_(executor, config, progress_, batcher(), passed_over_,
                   [this] { OnCheckpoint(); }),
      continuity_(config.postgres.slot, progress_, AfterPromotion(config)),
      consumer_(progress_, checkpoints_.writer(), passed_over_, pause_gate_,
                batcher()),
      stream_(LiveStreamOptions(config.postgres), config.outbox,
              ReferencesOf(sender_.builder().routes()), consumer_),
      session_(config.transactions.is_on
                   ? RelaySession::Producing::kInTransactions
                   : RelaySession::Producing::kSingly,
               config.shutdown_timeout, progress_, checkpoints_.writer(),
               continuity_, pause_gate_, stream_, std::random_device()()),
      source_(executor, config.postgres, present_.outbox,
              sender_.builder().routes(), continuity_, stream_),
      monitor_session_(
          executor, config.postgres, present_.outbox,
          sender_.builder().routes(), config.parking.table,
          [this] { OnServerShutdown(); },
          [this](const SlotReport& report) { OnSlotReport(report); }),
      replay_window_service_(executor, config.postgres),
      snapshot_(executor, present_, pause_gate_),
      parking_(executor, config_, numbering_, progress_, *knowledge_,
               ParkingCallbacks()),
      retry_timer_(executor),
      watch_timer_(executor),
      commit_timer_(executor),
      wal_budget_(config.postgres.wal_budget_bytes),
      state_log_(Clock::now()),
      oldest_wait_(Clock::now()),
      read_lag_(Clock::now()),
      brokers_seen_at_(Clock::now()),
      progress_log_(Clock::now()) {
  if (before.has_streamed) session_.Continue();
  sender_.SetErrorActions(config.on_error, LogDivertedEvent);
  if (batcher_) sender_.AwaitCommits(config.transactions.boundary);
  if (config.sends_letters()) {
    monitor_session_.NoteLetterTopic(config.outbox.dead_letter.topic);
  }
  consumer_.SampleEvents(published_sample_);
  monitor_session_.CompareWithRows(published_sample_);
  if (config.checkpoint.has_store()) return;
  continuity_.RelyOnRecord();
  monitor_session_.KeepOnRecord(passed_over_);
}

asio::awaitable<absl::Status> Relay::Run() {
  asio::co_spawn(executor_, Watch(), asio::detached);
  asio::co_spawn(executor_, monitor_session_.Run(), asio::detached);
  asio::co_spawn(executor_, replay_window_service_.Run(), asio::detached);
  Action action = session_.Begin();
  while (action.what != RelaySession::Do::kEnd) {
    const absl::Status result = co_await CarryOut(action);
    action = session_.Next(result, Clock::now());
    LogAction(action);
  }
  co_return action.reason;
}

asio::awaitable<absl::Status> Relay::CarryOut(Action action) {
  using Do = RelaySession::Do;
  switch (action.what) {
    case Do::kStartProducer:
      co_return StartSink();
    case Do::kPrepare:
      co_return co_await Prepare();
    case Do::kLoadCheckpoint:
      co_return co_await checkpoints_.Load();
    case Do::kOpen:
      co_return co_await Open();
    case Do::kTakeOver:
      co_return co_await TakeOver();
    case Do::kStream:
      co_return co_await Stream();
    case Do::kKeepGap:
      knows_tables_ = false;  // an operator may have settled that one is gone
      co_await checkpoints_.Keep(*continuity_.gap(), DescribeSession());
      break;
    case Do::kCloseProducer:
      if (action.is_last) StopBeside();
      if (batcher_) NoteTransactionGivenUp(action.reason);
      co_await sinks_.Close(action.until);
      break;
    case Do::kWait:
      co_await WaitUntil(action.until);
      break;
    case Do::kEnd:
      break;
  }
  co_return absl::OkStatus();
}

absl::Status Relay::StartSink() {
  // The session has started over: forget the records that the previous sink had
  // in flight.
  if (session_.TakeReset()) {
    knowledge_->Forget();
    oldest_wait_.StartOver();
    oldest_unpublished_.StartOver();
    read_lag_.StartOver(Clock::now());
  }
  if (batcher_) {
    sinks_.SetTransactionalId(RelayTransactionalId(
        checkpoints_.system_identifier(), config_.postgres.slot));
  }
  sinks_.SetOneAtATime(sender_.is_careful());
  return sinks_.Start();
}

asio::awaitable<absl::Status> Relay::Prepare() {
  if (!knows_tables_) WALPOST_CO_RETURN_IF_ERROR(co_await FindTables());
  if (config_.postgres.initial_snapshot) {
    const absl::Status published = co_await snapshot_.Run();
    source_.SetPublishedTables(snapshot_.tables());
    co_return published;
  }
  if (!looked_for_rows_) {
    looked_for_rows_ = co_await WarnOfExistingRows(executor_, present_);
  }
  co_return absl::OkStatus();
}

// A gap stays with the relay that has found it, until it is over.
asio::awaitable<absl::Status> Relay::FindTables() {
  if (config_.outbox.patterns.empty() || continuity_.gap()) {
    co_return absl::OkStatus();
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      OutboxOptions outbox, co_await ExpandTables(executor_, config_, before_));
  knows_tables_ = HasSameTables(outbox, config_.outbox);
  if (!knows_tables_) {
    MakeWayFor({std::move(outbox), before_.in_wal});
    co_return absl::CancelledError("other tables match outbox.tables");
  }
  if (!before_.has_streamed) WarnOfUnmatchedPatterns(outbox);
  co_return absl::OkStatus();
}

// They are published from the next relay on, which asks whether they exist.
void Relay::TakeUp(const std::vector<std::string>& tables) {
  TableExpansion next{config_.outbox, before_.in_wal};
  const absl::Status added = AddByPattern(next.outbox, tables);
  if (!added.ok()) LogWarn("{}", std::string(added.message()));
  for (const std::string& table : tables) {
    LogInfo({{"table", table}}, "table {} is new by a pattern of outbox.tables",
            table);
  }
  if (!stream_.new_table().empty()) next.in_wal.insert(stream_.new_table());
  MakeWayFor(std::move(next));
}

void Relay::MakeWayFor(TableExpansion next) {
  if (session_.shutdown_deadline()) return;
  next.has_streamed = before_.has_streamed || session_.has_streamed();
  next_ = std::move(next);
  LogInfo("reopening the stream with {} tables", next_->outbox.tables.size());
  EndInOrder();
}

asio::awaitable<absl::Status> Relay::Open() {
  checkpoints_.ForgetFailure();
  continuity_.SetCheckpoint(checkpoints_.loaded());
  co_await WaitForCluster();
  const absl::Status opened = co_await source_.Open();
  if (opened.ok()) ApplyPause(source_.pause());
  if (source_.has_new_tables()) knows_tables_ = false;
  co_return opened;
}

// Nobody else has the slot now.
asio::awaitable<absl::Status> Relay::TakeOver() {
  absl::Status status = stream_.Check(Clock::now(), BootClock::now());
  if (status.ok() && batcher_) {
    takeover_awaits_ =
        "Kafka, which ends the transaction of the instance before";
    status = co_await Fence();
  }
  if (status.ok()) {
    takeover_awaits_ = "Postgres, which tells what is parked";
    const auto& record = continuity_.record();
    const ParkedTable table = record ? record->parked_table : ParkedTable();
    status = co_await parking_.Open(continuity_.system_identifier(), table);
  }
  takeover_awaits_ = "";
  if (!status.ok()) source_.Close();
  co_return status;
}

// Whoever had the slot may still have committed after the checkpoint was read;
// from now on it cannot.
asio::awaitable<absl::Status> Relay::Fence() {
  if (continuity_.system_identifier() != checkpoints_.system_identifier()) {
    co_return absl::UnavailableError("the server is another one than before");
  }
  absl::Status status = co_await sinks_.TakeOver(kTakeOverLimit);
  if (!status.ok()) co_return FromKafka(status);
  brokers_seen_at_ = Clock::now();
  const std::optional<Checkpoint> before = checkpoints_.loaded();
  status = co_await checkpoints_.Load();
  if (status.ok() && checkpoints_.loaded() != before) {
    status = absl::UnavailableError(
        "another instance has committed until now: beginning again from its "
        "checkpoint");
  }
  if (status.ok()) WarnOfRepeats();
  co_return status;
}

ParkedEventService::Callbacks Relay::ParkingCallbacks() {
  return {.on_lost =
              [this](const absl::Status& reason) {
                session_.OnLost(reason);
                source_.OnProgress();
              },
          .on_progress = [this] { OnDrained(); },
          .may_release = [this] { return MayRelease(); },
          .is_paused = [this] { return pause_gate_.is_paused(); },
          .settled_through =
              [this] { return checkpoints_.writer().settled_through(); }};
}

// A gap may have come about since the last look (CheckKafka).
bool Relay::MayRelease() const {
  return source_.is_open() && !session_.has_found_gap() && !FindKafkaGap() &&
         pause_gate_.may_send() && !session_.shutdown_deadline() &&
         !sinks_.Health().cluster_id.empty();
}

// The brokers report their cluster id with the first answer. If they are away,
// the stream begins all the same: nothing is produced to an unknown cluster.
asio::awaitable<void> Relay::WaitForCluster() {
  const MonotonicTime until = Clock::now() + kClusterLimit;
  while (sinks_.Health().cluster_id.empty() && Clock::now() < until &&
         !session_.shutdown_deadline()) {
    co_await WaitUntil(Clock::now() + kClusterPoll);
  }
  source_.SetKafkaCluster(sinks_.Health().cluster_id);
}

asio::awaitable<absl::Status> Relay::Stream() {
  monitor_session_.SetReference(source_.findings(), continuity_.coverage(),
                                source_.base_types());
  for (const Finding& finding : source_.findings()) {
    if (finding.severity != Severity::kWarning || session_.streams() > 1) {
      continue;
    }
    LogFinding(finding);
  }
  const auto& slot = continuity_.observed().slot;
  const Lsn stands = slot ? slot->confirmed : Lsn();
  passed_over_.Begin(
      Coverage::Parse(continuity_.coverage()).passed_over,
      checkpoints_.loaded() ? checkpoints_.loaded()->confirmed : stands,
      progress_.acknowledged_through().commit_lsn);
  checkpoints_.Begin(DescribeSession(), sinks_.sink());
  sender_.SetSkips(SkipsOf(source_.decisions(), PlaceOf(Position())));
  ExpectKafka();
  // A later stream may be after another trouble.
  const bool is_repetition = std::exchange(is_repeating_, false);
  Log(is_repetition ? LogLevel::kDebug : LogLevel::kInfo, {},
      "streaming from slot {} at {} (system {}, timeline {}){}",
      config_.postgres.slot, progress_.confirmed().ToString(),
      continuity_.system_identifier(), continuity_.timeline(),
      batcher_ ? ", exactly once" : "");
  // Nothing has come through the slot yet.
  if (progress_.confirmed() == continuity_.birth() && !is_repetition) {
    LogInfo("slot {} begins here. If the database was moved: {}",
            config_.postgres.slot, kForgetPositions);
  }
  parking_.Begin();
  const absl::Status status = co_await source_.Stream();
  if (!stream_.new_table().empty()) TakeUp({stream_.new_table()});
  co_await parking_.End();
  checkpoints_.Pause();
  co_return status;
}

// Sets the Kafka cluster and the topics that have the events so far. The writer
// of the last checkpoint knows them best.
void Relay::ExpectKafka() {
  const std::string cluster = continuity_.kafka_cluster();
  sinks_.sink()->ExpectCluster(IsUnnamedCluster(cluster) ? "" : cluster);
  if (checkpoints_.loaded()) {
    knowledge_->SetTopics(checkpoints_.loaded()->kafka_topics);
  }
  sinks_.sink()->ExpectTopics();
}

CheckpointScope Relay::DescribeSession() {
  CheckpointScope session = continuity_.owner();
  session.kafka_cluster = sinks_.Health().cluster_id;
  return session;
}

asio::awaitable<void> Relay::WaitUntil(MonotonicTime until) {
  retry_timer_.expires_at(until);
  co_await retry_timer_.async_wait(kAsTuple);
}

// A trouble that repeats itself, such as a denied right, closes the producer
// and ends the stream each time: that is one line per minute.
void Relay::LogAction(const Action& action) {
  const bool replaces =
      action.what == RelaySession::Do::kCloseProducer && !action.is_last;
  const bool waits = action.what == RelaySession::Do::kWait;
  const bool is_poison = absl::IsDataLoss(action.reason);
  if (!replaces && !(waits && (is_poison || action.is_retry))) return;
  const std::string reason(action.reason.message());
  const std::string code = ReasonCodeOf(action.reason);
  const bool is_planned = replaces && absl::IsCancelled(action.reason);
  const bool is_news = is_planned || trouble_line_.IsDue(reason, Clock::now());
  const LogLevel level = is_news ? LogLevel::kWarn : LogLevel::kDebug;
  if (replaces) {
    is_repeating_ = !is_news;
    Log(is_planned ? LogLevel::kInfo : level, {{"reason_code", code}},
        "replacing the {} producer: {}", WordsOf(config_.sink).name, reason);
    return;
  }
  if (is_poison) {
    Log(is_news ? LogLevel::kError : level, {{"reason_code", code}},
        "{} (after {}, {} times)", reason,
        session_.poison().confirmed().ToString(), session_.poison().times());
  }
  if (!action.is_retry) return;
  const auto wait =
      std::chrono::ceil<milliseconds>(action.until - Clock::now());
  Log(level, {{"reason_code", code}}, "{}; trying again in {} ms",
      std::string(absl::StripSuffix(reason, ";")), wait.count());
}

void Relay::Shutdown() {
  if (session_.shutdown_deadline()) return;
  LogInfo("shutting down: {} records in flight",
          sender_.window().in_flight_records());
  EndInOrder();
}

void Relay::EndInOrder() {
  session_.Shutdown(Clock::now());
  snapshot_.Stop(*session_.shutdown_deadline());
  retry_timer_.cancel();
  OnDrained();
}

void Relay::StopBeside() {
  ended_ = true;
  watch_timer_.cancel();
  commit_timer_.cancel();
  monitor_session_.Stop();
  replay_window_service_.Stop();
}

void Relay::OnDrained() {
  SaveCheckpointIfDue();
  source_.OnProgress();
}

// A checkpoint that is overtaken ends the stream, too.
void Relay::SaveCheckpointIfDue() {
  // It may be the last one, or the last of this sink, and Watch has not seen
  // yet where events went, or that a topic has lost them.
  if (session_.is_hurried() || sender_.sink_failure()) CheckKafka();
  checkpoints_.SaveIfDue(session_.is_hurried() || !stream_.new_table().empty());
  session_.OnReports();
  if (batcher_) AwaitCommit();
}

void Relay::OnCheckpoint() {
  if (batcher_) NoteTransaction();
  session_.OnReports();
  source_.OnProgress();
}

// Nothing else may happen until a commit is due.
void Relay::AwaitCommit() {
  const MonotonicTime due_at = batcher_->due_at();
  if (due_at == commit_timer_.expiry()) return;
  commit_timer_.expires_at(due_at);
  if (due_at == MonotonicTime::max()) return;
  commit_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !ended_) OnDrained();
  });
}

}  // namespace walpost
