#include "app/backfill/initial_snapshot.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_join.h"
#include "app/backfill/read_events_on_record.h"
#include "app/sink/kafka_deletions.h"
#include "app/sink/sinks.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "loop/blocking_call.h"
#include "postgres/connect/sqlstate.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
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

// An error about names or rights: another attempt fails, too.
bool IsAboutSchema(const absl::Status& status) {
  const std::string sqlstate = SqlstateOf(status);
  return sqlstate.empty() ? !absl::IsDeadlineExceeded(status)
                          : sqlstate.starts_with("42");
}

}  // namespace

asio::awaitable<absl::Status> InitialSnapshot::Run() {
  while (!done_ && !stop_by_) {
    const absl::Status status = co_await Attempt();
    publishing_ = false;
    session_.Close();
    if (stop_by_) break;
    if (publisher_ == nullptr || !publisher_->stoppage()) co_return status;
    blocked_event_ = publisher_->stoppage();
    done_at_stoppage_ = publisher_->done();
    co_await Wait(kStoppedInterval);
    if (stop_by_) break;
    const MonotonicTime deadline = Clock::now() + kProducerGrace;
    WALPOST_CO_RETURN_IF_ERROR(co_await publisher_->Renew(deadline));
  }
  if (done_) co_return absl::OkStatus();
  if (publisher_ != nullptr) {
    co_await publisher_->Close(*stop_by_);
    spdlog::warn("{} are in Kafka; the next start {}", Progress(),
                 ledger_ == nullptr ? "begins with the first row again"
                                    : "continues behind them");
  }
  co_return absl::CancelledError("told to end");
}

asio::awaitable<absl::Status> InitialSnapshot::Attempt() {
  WALPOST_CO_ASSIGN_OR_RETURN(const SlotHistory found,
                              co_await session_.Open());
  const SlotHistory history = found;
  // The stream reports a slot that is missing or should exist.
  const bool is_through =
      history == SlotHistory::kUsed && session_.new_tables().empty();
  done_ = history == SlotHistory::kMissing || is_through ||
          (history == SlotHistory::kNone && !config_.postgres.create);
  if (is_through) LogNoEffect();
  if (done_) co_return absl::OkStatus();
  if (!all_sent_) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Publish(history));
  }
  co_return co_await Finish();
}

asio::awaitable<absl::Status> InitialSnapshot::Publish(SlotHistory history) {
  WALPOST_CO_RETURN_IF_ERROR(co_await session_.Begin(history));
  co_await ForgetOtherSlot();
  if (publisher_ == nullptr) co_await WarnOfDeletions();
  const absl::Status made = MakePublisher();
  if (!made.ok()) co_return made;
  WALPOST_CO_RETURN_IF_ERROR(co_await LeaveOutStreamed());
  WALPOST_CO_RETURN_IF_ERROR(co_await LeaveOutOnRecord(history));
  const absl::Status published = co_await PublishRows();
  if (!published.ok()) {
    const bool may_pass = session_.is_lost() || !IsAboutSchema(published);
    co_return may_pass ? absl::UnavailableError(published.message())
                       : published;
  }
  all_sent_ = true;
  co_return co_await session_.End();
}

// The slot was dropped and made again: all rows are from before it.
asio::awaitable<void> InitialSnapshot::ForgetOtherSlot() {
  if (session_.target() == target_) co_return;
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
  for (const Finding& finding : *findings) {
    const auto level = finding.severity == Severity::kWarning
                           ? spdlog::level::warn
                           : spdlog::level::info;
    spdlog::log(level, "{} {}{}{}", finding.subject, finding.text,
                finding.remedy.empty() ? "" : "; ", finding.remedy);
  }
}

asio::awaitable<absl::Status> InitialSnapshot::LeaveOutStreamed() {
  if (ledger_ == nullptr || session_.is_exact()) co_return absl::OkStatus();
  absl::StatusOr<EventSet> streamed = co_await survey_.Run(
      publisher_->run().sender().builder().routes(), session_.visible_before());
  if (!streamed.ok()) co_return streamed.status();
  publisher_->SetLeftOut(*std::move(streamed));
  co_return absl::OkStatus();
}

// An earlier attempt, or an operator, may have set rows aside. Of a slot that
// was not there before, only what Postgres may have of an earlier one is asked.
asio::awaitable<absl::Status> InitialSnapshot::LeaveOutOnRecord(
    SlotHistory history) {
  OnRecordQuery query;
  query.verb = "snapshot";
  query.if_unknown = ParkedList::IfUnknown::kEmpty;
  query.asks_kafka = history != SlotHistory::kNone;
  absl::StatusOr<EventsOnRecord> on_record =
      co_await ReadEventsOnRecord(executor_, config_, query);
  if (!on_record.ok()) co_return on_record.status();
  publisher_->SetOnRecord(*std::move(on_record));
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> InitialSnapshot::PublishRows() {
  publishing_ = true;
  acknowledged_at_ = Clock::now();
  Connection& connection = session_.connection();
  for (;;) {
    const absl::StatusOr<TablePublisher::Counts> counts =
        co_await publisher_->Continue(connection);
    if (counts.ok()) co_return absl::OkStatus();
    if (stop_by_ || publisher_->stoppage() || !publisher_->sink_failed()) {
      co_return counts.status();
    }
    spdlog::warn("replacing the Kafka producer: {}",
                 std::string(counts.status().message()));
    co_await Wait(kProducerPause);
    if (stop_by_) co_return counts.status();
    // The next producer fences all others: only with the lock.
    if (ledger_ != nullptr) {
      WALPOST_CO_RETURN_IF_ERROR(co_await session_.Check());
    }
    const MonotonicTime deadline = Clock::now() + kProducerGrace;
    WALPOST_CO_RETURN_IF_ERROR(co_await publisher_->Renew(deadline));
  }
}

// Kept across lost connections: it knows which rows are acknowledged.
absl::Status InitialSnapshot::MakePublisher() {
  if (publisher_ != nullptr) return absl::OkStatus();
  TablePublisher::Options options;
  options.tables = tables();
  options.mark.header = "walpost-snapshot";
  options.mark.value = target_.stands_at.ToString();
  // Events that were sent already may be behind the place where the slot
  // stands: rows of a new table have no position.
  if (target_.tables.empty()) options.before = target_.begins_at;
  options.timeline = session_.timeline();
  // Consumers that remember a position must not confuse the rows of a second
  // run with those of the first: later runs count from a higher ordinal.
  options.ordinals_after =
      static_cast<uint64_t>(WallNow().time_since_epoch().count());
  options.may_send = [this] { return pause_gate_.may_send(); };
  options.progress = [this](uint64_t, uint64_t) { LogProgress(); };
  if (config_.transactions.is_on) {
    ledger_ = std::make_unique<SnapshotLedger>(
        executor_, MakeRecordReader(config_), config_.checkpoint.topic,
        config_.postgres.slot, target_.system_identifier, target_.begins_at,
        target_.tables.empty() ? "" : Coverage{"", target_.tables}.ToString());
    options.ledger = ledger_.get();
  }
  absl::StatusOr<std::unique_ptr<TablePublisher>> created =
      TablePublisher::Create(executor_, config_, MakeSinks(executor_, config_),
                             std::move(options));
  if (!created.ok()) return created.status();
  publisher_ = *std::move(created);
  spdlog::info(
      "initial snapshot: publishing the existing rows of {}; slot {} "
      "begins at {}",
      target_.tables.empty()
          ? "the outbox"
          : absl::StrJoin(tables(), ", ") + ", new in outbox.tables",
      config_.postgres.slot, target_.stands_at.ToString());
  return absl::OkStatus();
}

// All rows are in Kafka: a failure from here on must not repeat them, unless
// the slot is another one.
asio::awaitable<absl::Status> InitialSnapshot::Finish() {
  const absl::Status noted = co_await session_.Record();
  if (absl::IsAborted(noted)) all_sent_ = false;
  if (absl::IsAborted(noted) || absl::IsUnavailable(noted)) {
    co_return absl::UnavailableError(noted.message());
  }
  done_ = true;
  if (!noted.ok()) {
    spdlog::info(
        "the initial snapshot could not be put on record: {}. If walpost is "
        "killed before its first feedback to Postgres, the next start looks at "
        "the rows again",
        std::string(noted.message()));
  }
  const std::string left_out = publisher_->left_out().ToText();
  if (publisher_->other_origin() > 0) {
    spdlog::info(
        "initial snapshot: {} of these rows are left out, because they were "
        "replicated to this server (postgres.origin: none)",
        publisher_->other_origin());
  }
  spdlog::info(
      "initial snapshot: {} rows are in Kafka{}{}{}; slot {} begins at {}",
      publisher_->done(), ledger_ == nullptr ? "" : ", or come with the stream",
      left_out.empty() ? "" : ", or on record: ", left_out,
      config_.postgres.slot, target_.stands_at.ToString());
  publisher_->SetLeftOut(EventSet());
  co_await publisher_->Close(Clock::now());
  co_return absl::OkStatus();
}

asio::awaitable<void> InitialSnapshot::Wait(milliseconds length) {
  timer_.expires_after(stop_by_ ? milliseconds(0) : length);
  co_await timer_.async_wait(kAsTuple);
}

void InitialSnapshot::Stop(MonotonicTime deadline) {
  stop_by_ = deadline;
  timer_.cancel();
  if (publisher_ != nullptr) publisher_->Stop();
  if (ledger_ != nullptr) ledger_->Stop();
  session_.Interrupt();
  survey_.Interrupt();
}

void InitialSnapshot::LogNoEffect() const {
  const std::optional<BirthRecord>& birth = session_.birth();
  const Lsn since =
      birth ? birth->consistent_point : session_.slot()->confirmed_flush_lsn;
  spdlog::info(
      "snapshot: initial has no effect any more: slot {} is in use since {}",
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
  return fmt::format("initial snapshot: {} of {} rows", publisher_->done(),
                     publisher_->all());
}

void InitialSnapshot::LogProgress() {
  if (blocked_event_ && publisher_->done() > done_at_stoppage_)
    blocked_event_.reset();
  if (Clock::now() - logged_at_ < kLogInterval) return;
  if (logged_at_ != MonotonicTime()) spdlog::info("{}", Progress());
  logged_at_ = Clock::now();
}

std::optional<BlockedEvent> InitialSnapshot::stoppage() const {
  return done_ ? std::nullopt : blocked_event_;
}

DeliveryCounters InitialSnapshot::counters() const {
  DeliveryCounters sum = counters_before_;
  if (publisher_ != nullptr) sum += publisher_->run().sender().counters();
  return sum;
}

void InitialSnapshot::AddTo(RelaySigns& signs) const {
  if (done_ || publisher_ == nullptr) return;
  if (blocked_event_) signs.stoppage = blocked_event_;
  if (!publishing_) return;
  signs.trouble = absl::OkStatus();
  signs.snapshot_progress = Progress();
  const Sender& sender = publisher_->run().sender();
  signs.held = sender.held();
  signs.in_flight_records = sender.window().in_flight_records();
  signs.unknown_topic = publisher_->run().missing_topic();
  const MonotonicTime now = Clock::now();
  const bool moved = publisher_->done() != acknowledged_before_;
  if (moved || signs.in_flight_records == 0) acknowledged_at_ = now;
  acknowledged_before_ = publisher_->done();
  signs.unacknowledged_for =
      std::chrono::duration_cast<milliseconds>(now - acknowledged_at_);
}

}  // namespace walpost
