// Relay: what it sees beside the stream.
#include <algorithm>
#include <utility>

#include "app/live/relay.h"
#include "base/reason_code.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Interval for offering held records again and for checking the state.
constexpr milliseconds kWatchInterval{250};

}  // namespace

void Relay::OnServerShutdown() {
  if (!source_.is_open()) return;
  LogWarn("Postgres is shutting down: leaving its stream");
  session_.OnServerShutdown(Clock::now());
  OnDrained();
}

EventPlace Relay::PlaceOf(const Position& position) const {
  return {continuity_.system_identifier(), continuity_.timeline(), numbering_,
          position};
}

void Relay::ApplyPause(const std::optional<PauseRecord>& record) {
  if (!session_.OnPauseRecord(record)) return;
  if (record && !record->is_paused) LogInfo("resumed by {}", record->by);
  source_.OnProgress();
}

// Ignores decisions about other events, and about another history.
void Relay::ApplyDecision(const std::vector<EventDecision>& decisions) {
  const std::optional<BlockedEvent> stoppage = sender_.stoppage();
  if (!stoppage) return;
  const EventPlace place = PlaceOf(stoppage->position);
  for (const EventDecision& decision : decisions) {
    if (!IsAbout(decision, place, stoppage->digest) ||
        !sender_.Decide(place.position, decision.action)) {
      continue;
    }
    if (!decision.was_obeyed) monitor_session_.NoteObeyed(decision);
    const std::string position = ToString(place.position);
    LogWarn({{"position", position}},
            "{} has decided about the event at {}: {} ({})", decision.by,
            position, std::string(ToString(decision.action)), decision.why);
    source_.OnProgress();
  }
}

void Relay::OnSlotReport(const SlotReport& report) {
  slot_report_ = report;
  ApplyPause(report.pause);
  ApplyDecision(report.decisions);
  if (report.gap) session_.OnGap(*report.gap);
  if (!report.new_tables.empty() && !report.gap && source_.is_open()) {
    TakeUp(report.new_tables);
  }
  LeaveOldPrimary(report.timeline);
  if (report.has_other_columns && source_.is_open()) {
    session_.OnLost(absl::UnavailableError(
        "the columns of an outbox table were altered: reading them again"));
    source_.OnProgress();
  }
  std::optional<Gap> seen;
  if (report.source) {
    const auto& [observed, record, parking] = *report.source;
    seen = continuity_.VisibleGap(observed, record);
    if (!seen) seen = parking;
  }
  observed_gap_.Look(std::move(seen));
  checkpoints_.OnReport(report);
  if (report.has_slot) NoteRetainedWal(report);
}

// A frozen primary keeps its end of the stream open. The session beside it has
// found the promoted server sooner than the stream gives up.
void Relay::LeaveOldPrimary(uint32_t timeline) {
  if (!source_.is_open() || timeline <= continuity_.timeline()) return;
  session_.OnLost(absl::UnavailableError(fmt::format(
      "a server on timeline {} takes writes now, and the stream comes from "
      "timeline {}: leaving it",
      timeline, continuity_.timeline())));
  source_.OnProgress();
}

void Relay::NoteRetainedWal(const SlotReport& report) {
  // The guard slot stands behind the live slot: the WAL it keeps holds both.
  const bool guard_keeps_more =
      report.guard && !report.guard->is_lost &&
      report.guard->wal.retained_bytes > report.wal.retained_bytes;
  wal_budget_.OnReport(guard_keeps_more ? report.guard->wal : report.wal,
                       Clock::now());
  if (source_.is_open()) {
    replay_window_service_.OnReport(report, wal_budget_.limit_bytes());
  }
  const WalBudget::Level before =
      std::exchange(wal_budget_level_, wal_budget_.level());
  if (wal_budget_level_ == before ||
      wal_budget_level_ == WalBudget::Level::kFine) {
    return;
  }
  LogWarn("Postgres keeps {} MiB of WAL for slot {}; the limit is {} MiB",
          wal_budget_.retained_bytes() >> 20, config_.postgres.slot,
          wal_budget_.limit_bytes() >> 20);
}

// The checkpoint of a slot that has been streamed from is gone. This process,
// if it has streamed, knows the position by itself.
void Relay::WarnOfRepeats() const {
  const bool is_known = checkpoints_.loaded() || session_.has_streamed();
  if (is_known || !continuity_.slot_was_used()) return;
  LogWarn(
      "checkpoint topic {} has no entry for slot {} although the slot is "
      "confirmed to {}; events after it that were published "
      "will be sent again",
      config_.checkpoint.topic, config_.postgres.slot,
      continuity_.observed().slot->confirmed.ToString());
}

asio::awaitable<void> Relay::Watch() {
  while (!ended_) {
    NoteAcknowledgements();
    NoteReading();
    CheckKafka();
    // Before the retry, because that clears the reason of held records.
    state_log_.Update(Signs(), Clock::now());
    parking_.Watch(brokers_seen_at_, Clock::now());
    session_.Watch(Clock::now());
    monitor_session_.WatchDecisions(sender_.stoppage().has_value());
    monitor_session_.RecordPassedOver();
    monitor_session_.WatchSource(!source_.is_open());
    monitor_session_.WatchSession(parking_.waiting_pid());
    OnDrained();
    progress_log_.Tick(Clock::now(), sender_,
                       checkpoints_.writer().confirmable());
    replicated_log_.Tick(Clock::now(), stream_.skipped());
    watch_timer_.expires_after(kWatchInterval);
    co_await watch_timer_.async_wait(kAsTuple);
  }
}

// Checks once the brokers are reached, if they were not before the stream. They
// count as reached when it is known which they are.
void Relay::CheckKafka() {
  if (!source_.is_open() || sinks_.sink() == nullptr ||
      session_.has_found_gap()) {
    return;
  }
  const SinkHealth health = sinks_.Health();
  if (const std::optional<Gap> gap = FindKafkaGap()) {
    return session_.OnGap(*gap);
  }
  kafka_was_reached_ |= health.brokers_up > 0 && !health.is_comparing;
  if (!health.cluster_id.empty()) {
    checkpoints_.NoteKafka(health.cluster_id, knowledge_->topics());
  }
}

std::optional<Gap> Relay::FindKafkaGap() const {
  const auto other = DescribeOtherBrokers(continuity_.kafka_cluster(),
                                          sinks_.Health().cluster_id);
  if (other) return Gap{kGapKafkaReplaced, *other};
  const std::string& replaced = knowledge_->replaced_topic();
  if (!replaced.empty()) return Gap{kGapKafkaReplaced, replaced};
  return std::nullopt;
}

void Relay::NoteTransaction() {
  const CheckpointWriter& writer = checkpoints_.writer();
  if (!writer.status().ok()) return;
  sender_.OnCommitted(WallNow());
  session_.OnDelivered();
  ++transactions_.committed;
  transactions_.commit_time.Record(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() -
                                                            writer.tried_at()));
  if (batcher_->splits() == transactions_.splits) return;
  transactions_.splits = batcher_->splits();
  LogWarn(
      "the transaction of Postgres that has committed at {} is in several "
      "Kafka transactions: consumers may see a part of it "
      "(delivery.max_transaction_records, .max_transaction_bytes, "
      ".transaction_timeout)",
      writer.saved().position.commit_lsn.ToString());
}

// The producer is closed, and with it the transaction that was open.
void Relay::NoteTransactionGivenUp(const absl::Status& reason) {
  const bool had_records = batcher_->Abandon();
  const bool is_fenced = ReasonCodeOf(reason) == kReasonFenced;
  if (is_fenced) ++transactions_.fenced;
  if (!is_fenced && had_records) ++transactions_.given_up;
}

void Relay::NoteAcknowledgements() {
  const uint64_t acknowledged =
      sender_.counters().acknowledged + snapshot_.counters().acknowledged;
  const bool moved = acknowledged != acknowledged_before_;
  if (moved && !batcher_) session_.OnDelivered();
  if (moved) brokers_seen_at_ = Clock::now();
  brokers_seen_at_ = std::max(brokers_seen_at_, sinks_.Health().heard_at);
  kafka_was_reached_ |= moved;
  if (moved && sender_.window().TakesTurns()) {
    oldest_wait_.OnTurnOfOthers(Clock::now());
    parking_.OnTurnOfOthers(Clock::now());
  }
  oldest_wait_.Look(sender_.window().oldest(), progress_.settled_through(),
                    Clock::now());
  oldest_unpublished_.Look(sender_.window().oldest(),
                           progress_.settled_through());
  acknowledged_before_ = acknowledged;
}

// The end of the WAL is known from the stream, or from the session beside it.
void Relay::NoteReading() {
  read_lag_.Look(progress_.received(), server_wal_end(),
                 std::max(stream_.server_clock().heard_at(),
                          monitor_session_.reported_at()));
}

}  // namespace walpost
