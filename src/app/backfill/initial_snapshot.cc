#include "app/backfill/initial_snapshot.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "app/backfill/read_events_on_record.h"
#include "app/sink/kafka_deletions.h"
#include "app/sink/sinks.h"
#include "base/status_macros.h"
#include "delivery/transactional_id.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds kLogInterval{5};
// Limit for asking both ends what Kafka would delete: only a warning depends on
// it.
constexpr std::chrono::seconds kDeletionsLimit{5};
constexpr milliseconds kDeletionsPoll{50};
// Interval for trying a row again that cannot be delivered.
constexpr milliseconds kStoppedInterval{5'000};
// Wait before the next producer; time for requests that are on their way.
constexpr milliseconds kProducerPause{500};
constexpr milliseconds kProducerGrace{2'000};

}  // namespace

asio::awaitable<absl::Status> InitialSnapshot::Run() {
  flow_.Begin();
  while (flow_.Next() != SnapshotFlow::Do::kReturn) co_await Step();
  session_.Close();
  if (!flow_.is_done() && stop_by_ && publisher_ != nullptr) {
    co_await publisher_->Close(*stop_by_);
    LogWarn("{} were published; the next start {}", Progress(),
            ledger_ == nullptr ? "begins with the first row again"
                               : "continues behind them");
  }
  co_return flow_.status();
}

asio::awaitable<void> InitialSnapshot::Step() {
  using Do = SnapshotFlow::Do;
  absl::Status done;
  switch (flow_.Next()) {
    case Do::kOpen:
      co_return co_await Open();
    case Do::kBegin:
      co_return co_await Begin();
    case Do::kPublish:
      co_return co_await PublishRows();
    case Do::kPrepare:
      done = co_await Prepare();
      break;
    case Do::kSurvey:
      done = co_await LeaveOutStreamed();
      break;
    case Do::kReadOnRecord:
      done = co_await LeaveOutOnRecord();
      break;
    case Do::kAwaitSink:
      co_await Wait(kProducerPause);
      break;
    case Do::kCheckLock:
      done = co_await session_.Check();
      break;
    case Do::kReplaceSink:
      done = co_await publisher_->Renew(Clock::now() + kProducerGrace);
      break;
    case Do::kAwaitOperator:
      session_.Close();
      co_await Wait(kStoppedInterval);
      break;
    case Do::kEndTransaction:
      done = co_await session_.End();
      break;
    case Do::kRecord:
      done = co_await Record();
      break;
    case Do::kReturn:
      break;
  }
  if (session_.is_lost()) flow_.OnConnectionLost();
  flow_.On(done);
}

asio::awaitable<void> InitialSnapshot::Open() {
  const absl::StatusOr<SlotHistory> history = co_await session_.Open();
  if (!history.ok()) {
    flow_.On(history.status());
    co_return;
  }
  history_ = *history;
  const bool has_new_tables = !session_.new_tables().empty();
  flow_.OnOpened(history_, has_new_tables);
  if (history_ == SlotHistory::kUsed && !has_new_tables) LogNoEffect();
}

asio::awaitable<void> InitialSnapshot::Begin() {
  const absl::Status begun = co_await session_.Begin(history_);
  if (!begun.ok()) {
    flow_.On(begun);
    co_return;
  }
  flow_.OnBegun(session_.is_exact() ? SnapshotFlow::Shows::kAllBeforeSlot
                                    : SnapshotFlow::Shows::kPresent);
}

// Kept across lost connections: it knows which rows are acknowledged.
asio::awaitable<absl::Status> InitialSnapshot::Prepare() {
  if (session_.target() != target_) co_await ForgetOtherSlot();
  if (publisher_ != nullptr) co_return absl::OkStatus();
  co_await WarnOfDeletions();
  co_return MakePublisher();
}

// The slot was dropped and made again: all rows are from before it.
asio::awaitable<void> InitialSnapshot::ForgetOtherSlot() {
  flow_.OnOtherSlot();
  if (publisher_ != nullptr) {
    co_await publisher_->Close(Clock::now() + kProducerGrace);
  }
  counters_before_ = counters();
  publisher_.reset();
  ledger_.reset();
  blocked_event_.reset();
  target_ = session_.target();
}

// Before the first record. Without an answer in time, nothing is said.
asio::awaitable<void> InitialSnapshot::WarnOfDeletions() {
  const auto config = std::make_shared<const Config>(config_);
  std::function<Findings()> ask = [config, tables = tables()] {
    return FindKafkaDeletions(*config, config->postgres.server.conninfo, tables,
                              Severity::kWarning);
  };
  const auto call = BlockingCall<Findings>::Start(executor_, std::move(ask));
  if (!call.ok()) co_return;
  const MonotonicTime deadline = Clock::now() + kDeletionsLimit;
  std::optional<Findings> findings;
  while (!findings && !stop_by_ && Clock::now() < deadline) {
    findings = co_await (*call)->Wait(Clock::now() + kDeletionsPoll);
  }
  if (!findings) co_return;
  for (const Finding& finding : *findings) LogFinding(finding);
}

asio::awaitable<absl::Status> InitialSnapshot::LeaveOutStreamed() {
  absl::StatusOr<EventSet> streamed = co_await survey_.Run(
      publisher_->run().sender().builder().routes(), session_.visible_before());
  if (!streamed.ok()) co_return streamed.status();
  publisher_->backfill().SetLeftOut(*std::move(streamed));
  co_return absl::OkStatus();
}

// An earlier attempt, or an operator, may have set rows aside. Of a slot that
// was not there before, only what Postgres may have of an earlier one is asked.
asio::awaitable<absl::Status> InitialSnapshot::LeaveOutOnRecord() {
  OnRecordQuery query;
  query.verb = "snapshot";
  query.if_unknown = ParkedList::IfUnknown::kEmpty;
  query.asks_kafka = history_ != SlotHistory::kNone;
  absl::StatusOr<EventsOnRecord> on_record =
      co_await ReadEventsOnRecord(executor_, config_, query);
  if (!on_record.ok()) co_return on_record.status();
  publisher_->backfill().SetOnRecord(*std::move(on_record));
  co_return absl::OkStatus();
}

asio::awaitable<void> InitialSnapshot::PublishRows() {
  acknowledged_at_ = Clock::now();
  const absl::StatusOr<TablePublisher::Counts> counts =
      co_await publisher_->Continue(session_.connection());
  const std::optional<BlockedEvent>& stoppage =
      publisher_->backfill().stoppage();
  if (session_.is_lost()) flow_.OnConnectionLost();
  flow_.OnPublished(counts.status(), stoppage.has_value(),
                    publisher_->sink_failed());
  if (stoppage) {
    blocked_event_ = stoppage;
    done_at_stoppage_ = publisher_->backfill().done();
  }
  if (flow_.Next() == SnapshotFlow::Do::kAwaitSink) {
    LogWarn("replacing the {} producer: {}", WordsOf(config_.sink).name,
            std::string(counts.status().message()));
  }
}

absl::Status InitialSnapshot::MakePublisher() {
  TablePublisher::Options options;
  options.rows.tables = tables();
  options.mark.header = "walpost-snapshot";
  options.mark.value = target_.stands_at.ToString();
  // Rows that Debezium reads for its snapshot have no such header.
  options.mark.is_hidden = config_.outbox.debezium != nullptr;
  options.mark.has_own_place = true;
  // Events that were sent already may be behind the place where the slot
  // stands: rows of a new table have no position.
  if (target_.tables.empty()) options.before = target_.begins_at;
  options.rows.timeline = session_.timeline();
  // Consumers that remember a position must not confuse the rows of a second
  // run with those of the first: later runs count from a higher ordinal.
  options.rows.ordinals_after =
      static_cast<uint64_t>(WallNow().time_since_epoch().count());
  options.may_send = [this] { return pause_gate_.may_send(); };
  options.progress = [this](uint64_t, uint64_t) { LogProgress(); };
  if (config_.transactions.is_on) {
    MakeLedger();
    options.ledger = ledger_.get();
  }
  WALPOST_ASSIGN_OR_RETURN(
      publisher_,
      TablePublisher::Create(executor_, config_, MakeSinks(executor_, config_),
                             std::move(options)));
  LogInfo(
      "initial snapshot: publishing the existing rows of {}; slot {} "
      "begins at {}",
      target_.tables.empty()
          ? "the outbox"
          : absl::StrJoin(tables(), ", ") + ", new in outbox.tables",
      config_.postgres.slot, target_.stands_at.ToString());
  return absl::OkStatus();
}

// In the topic of the checkpoints, under another id than that of the stream.
void InitialSnapshot::MakeLedger() {
  const std::string& slot = config_.postgres.slot;
  const std::string tables =
      target_.tables.empty() ? "" : Coverage{"", target_.tables}.ToString();
  const std::string stream =
      RelayTransactionalId(target_.system_identifier, slot);
  const TopicRecord place{config_.checkpoint.topic,
                          fmt::format("{}:{}{}", kSnapshotSender, slot, tables),
                          target_.system_identifier};
  ledger_.reset(new TablePublisher::Ledger{
      SenderTransactionalId(stream, kSnapshotSender), target_.begins_at,
      LedgerRecord(executor_, MakeRecordReader(config_), place)});
}

asio::awaitable<absl::Status> InitialSnapshot::Record() {
  const absl::Status noted = co_await session_.Record();
  if (absl::IsAborted(noted) || absl::IsUnavailable(noted)) co_return noted;
  if (!noted.ok()) {
    LogInfo(
        "the initial snapshot could not be put on record: {}. If walpost is "
        "killed before its first feedback to Postgres, the next start looks at "
        "the rows again",
        std::string(noted.message()));
  }
  LogDone();
  publisher_->backfill().SetLeftOut(EventSet());
  co_await publisher_->Close(Clock::now());
  co_return noted;
}

void InitialSnapshot::LogDone() const {
  const TableBackfill& rows = publisher_->backfill();
  const TableBackfill::Counts counts = rows.counts();
  const std::string left_out = counts.left_out.ToText();
  if (counts.other_origin > 0) {
    LogInfo(
        "initial snapshot: {} of these rows are left out, because they were "
        "replicated to this server (postgres.origin: none)",
        counts.other_origin);
  }
  LogInfo("initial snapshot: {} rows are published{}{}{}; slot {} begins at {}",
          rows.done(), ledger_ == nullptr ? "" : ", or come with the stream",
          left_out.empty() ? "" : ", or on record: ", left_out,
          config_.postgres.slot, target_.stands_at.ToString());
}

asio::awaitable<void> InitialSnapshot::Wait(milliseconds length) {
  timer_.expires_after(stop_by_ ? milliseconds(0) : length);
  co_await timer_.async_wait(kAsTuple);
}

void InitialSnapshot::Stop(MonotonicTime deadline) {
  stop_by_ = deadline;
  timer_.cancel();
  flow_.Stop();
  if (publisher_ != nullptr) publisher_->Stop();
  if (ledger_ != nullptr) ledger_->record.Stop();
  session_.Interrupt();
  survey_.Interrupt();
}

void InitialSnapshot::LogNoEffect() const {
  const std::optional<BirthRecord>& birth = session_.birth();
  const Lsn since =
      birth ? birth->consistent_point : session_.slot()->confirmed_flush_lsn;
  LogInfo("snapshot: initial is ignored: slot {} has been in use since LSN {}",
          config_.postgres.slot, since.ToString());
}

std::vector<std::string> InitialSnapshot::tables() const {
  std::vector<std::string> names;
  for (const Coverage::Table& table : target_.tables) {
    names.push_back(table.name);
  }
  return names;
}

std::string InitialSnapshot::Progress() const {
  const TableBackfill& rows = publisher_->backfill();
  return fmt::format("initial snapshot: {} of {} rows", rows.done(),
                     rows.all());
}

void InitialSnapshot::LogProgress() {
  if (blocked_event_ && publisher_->backfill().done() > done_at_stoppage_)
    blocked_event_.reset();
  if (Clock::now() - logged_at_ < kLogInterval) return;
  if (logged_at_ != MonotonicTime()) LogInfo("{}", Progress());
  logged_at_ = Clock::now();
}

std::optional<BlockedEvent> InitialSnapshot::stoppage() const {
  return flow_.is_done() ? std::nullopt : blocked_event_;
}

DeliveryCounters InitialSnapshot::counters() const {
  DeliveryCounters sum = counters_before_;
  if (publisher_ != nullptr) sum += publisher_->run().sender().counters();
  return sum;
}

void InitialSnapshot::AddTo(RelaySigns& signs) const {
  if (flow_.is_done() || publisher_ == nullptr) return;
  if (blocked_event_) signs.stoppage = blocked_event_;
  if (!flow_.is_publishing()) return;
  signs.trouble = absl::OkStatus();
  signs.snapshot_progress = Progress();
  const Sender& sender = publisher_->run().sender();
  signs.held = sender.held();
  signs.in_flight_records = sender.window().in_flight_records();
  signs.unknown_topic = publisher_->run().missing_topic();
  const MonotonicTime now = Clock::now();
  const uint64_t done = publisher_->backfill().done();
  const bool moved = done != acknowledged_before_;
  if (moved || signs.in_flight_records == 0) acknowledged_at_ = now;
  acknowledged_before_ = done;
  signs.unacknowledged_for =
      std::chrono::duration_cast<milliseconds>(now - acknowledged_at_);
}

}  // namespace walpost
