// Relay: signs for the diagnosis, status, and renewal of credentials.
#include <chrono>

#include "app/live/relay.h"
#include "app/process/records_by_table.h"
#include "app/sink/sinks.h"
#include "base/sqlstate.h"

namespace walpost {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

RelaySigns Relay::Signs() const {
  const MonotonicTime now = Clock::now();
  const auto since = [now](MonotonicTime then) {
    return std::chrono::duration_cast<milliseconds>(now - then);
  };
  RelaySigns signs;
  signs.slot = config_.postgres.slot;
  signs.sink = WordsOf(config_.sink);
  signs.brokers = SinkAddress(config_);
  signs.draining = session_.shutdown_deadline().has_value();
  signs.confirmed = progress_.confirmed();
  signs.stoppage = sender_.known_stoppage();
  signs.held = sender_.held();
  signs.in_flight_records = sender_.window().in_flight_records();
  if (const InFlightRecord* oldest = sender_.window().oldest()) {
    signs.oldest_in_flight =
        std::chrono::duration_cast<std::chrono::microseconds>(
            WallNow() - oldest->commit_time);
  }
  const bool has_taken_over = source_.is_open() && takeover_awaits_.empty();
  signs.gap = continuity_.gap();
  if (!signs.gap && !has_taken_over) signs.gap = observed_gap_.gap();
  signs.trouble = session_.trouble();
  signs.slot_is_in_use = SqlstateOf(session_.trouble()) == kSqlstateObjectInUse;
  const SlotHolder& holder = source_.slot_holder();
  if (!holder.user().empty()) signs.slot_user = holder.user();
  signs.slot_user_trouble = holder.trouble();
  signs.slot_user_doubt = holder.doubt();
  signs.slot_creation = monitor_session_.slot_creation();
  signs.awaited = Awaited();
  // What was intended when this instance streamed last may be outdated.
  if (slot_report_ &&
      (source_.is_open() || slot_report_->publication_is_wrong)) {
    signs.publication_trouble = slot_report_->publication_trouble;
  }
  if (slot_report_ && signs.publication_trouble.empty()) {
    signs.publication_trouble = slot_report_->new_table_trouble;
  }
  signs.unseen_for = since(monitor_session_.reported_at());
  signs.unseen_because = monitor_session_.unseen_because();
  signs.pause = pause_gate_.pause();
  signs.trouble_is_poison = session_.poison().is_poison();
  signs.has_streamed = session_.has_streamed();
  signs.is_streaming = has_taken_over || session_.is_resuming(now);
  signs.server_silent_for = stream_.silence(now);
  signs.server_held_back_for = stream_.standby_hold().Length(now);
  signs.server_held_back_by = stream_.standby_hold().text();
  signs.brokers_were_reached = kafka_was_reached_;
  signs.brokers_unreachable_for = since(brokers_seen_at_);
  signs.unacknowledged_for = oldest_wait_.Length(now);
  const SinkHealth kafka = sinks_.Health();
  signs.unknown_topic = kafka.missing_topic;
  signs.topic_refusal = kafka.topic_refusal;
  signs.brokers_are_connected = kafka.brokers_up > 0;
  signs.broker_trouble = kafka.trouble;
  signs.brokers_reject_credentials = kafka.rejects_credentials;
  if (kafka.hidden_since) {
    signs.hidden_for = since(*kafka.hidden_since);
    const bool may_end = signs.hidden_for <= config_.transactions.timeout;
    if (!may_end) signs.hidden_records = kafka.hidden_records;
  }
  checkpoints_.AddTo(signs);
  signs.wal_budget_level = wal_budget_.level();
  signs.retained_wal_bytes = wal_budget_.retained_bytes();
  signs.wal_budget_bytes = wal_budget_.limit_bytes();
  signs.parking = parking_.report();
  signs.parking.waits_for = monitor_session_.session_wait();
  snapshot_.AddTo(signs);
  return signs;
}

std::string Relay::Awaited() const {
  if (source_.is_opening()) return "Postgres, where the stream begins";
  if (!takeover_awaits_.empty()) return std::string(takeover_awaits_);
  if (checkpoints_.is_loading()) return "the checkpoint of the last run";
  if (looked_for_rows_ || config_.postgres.initial_snapshot) return "";
  return "Postgres, which looks for rows that are older than the slot";
}

Lsn Relay::server_wal_end() const {
  const Lsn by_stream = stream_.server_wal_end();
  return slot_report_ ? std::max(by_stream, slot_report_->server_wal_end)
                      : by_stream;
}

// Requires the positions of the status.
void Relay::AddLag(RelayStatus& status) const {
  using std::chrono::microseconds;
  if (!status.has_stream()) return;
  const MonotonicTime now = Clock::now();
  std::optional<microseconds> newest_age;
  // The place where a stream begins is of no commit, and has no time.
  const WallTime committed_at = sender_.window().newest().commit_time;
  if (sender_.counters().events > 0 && committed_at != WallTime()) {
    newest_age =
        stream_.server_clock().Now(now).value_or(WallNow()) - committed_at;
  }
  status.lag = read_lag_.Length(now, newest_age);
  status.oldest_unpublished = status.lag;
  if (const auto oldest = oldest_unpublished_.commit_time()) {
    status.oldest_unpublished =
        std::max<microseconds>(*status.lag, WallNow() - *oldest);
  }
}

RelayStatus Relay::Status() const {
  RelayStatus status;
  status.stoppage = sender_.known_stoppage();
  if (const auto stoppage = snapshot_.stoppage()) status.stoppage = stoppage;
  checkpoints_.AddTo(status);
  state_log_.Report(Clock::now(), status);
  status.slot = config_.postgres.slot;
  status.pause = pause_gate_.pause();
  status.system_identifier = continuity_.system_identifier();
  if (status.system_identifier.empty()) {
    status.system_identifier = snapshot_.system_identifier();
  }
  status.timeline = continuity_.timeline();
  status.slot_birth = continuity_.birth();
  status.numbering = numbering_;
  status.server_version = source_.server_version();
  status.server_wal_end = server_wal_end();
  if (slot_report_) {
    status.retained_wal_bytes = wal_budget_.retained_bytes();
    status.updated_rows = slot_report_->updated_rows;
    if (slot_report_->has_slot) status.wal_status = slot_report_->wal_status;
    if (slot_report_->guard) status.guard_lsn = slot_report_->guard->confirmed;
  }
  status.slot_report_age = std::chrono::duration_cast<milliseconds>(
      Clock::now() - monitor_session_.reported_at());
  status.is_streaming =
      source_.is_open() && takeover_awaits_.empty() &&
      (!slot_report_ || slot_report_->publication_trouble.empty());
  status.has_gap = continuity_.gap() || observed_gap_.gap() ||
                   (slot_report_ && slot_report_->gap);
  if (slot_report_) {
    status.look_age = std::chrono::duration_cast<milliseconds>(
        Clock::now() - monitor_session_.looked_from());
  }
  status.wal_budget_bytes = wal_budget_.limit_bytes();
  status.wal_budget_time_left = wal_budget_.time_left();
  const AcknowledgementWindow& window = sender_.window();
  status.received = progress_.received();
  status.confirmed = progress_.confirmed();
  // A confirmed LSN is one that is stored.
  if (status.restart_lsn.is_valid()) status.confirmed = status.restart_lsn;
  status.acknowledged = progress_.acknowledged_through();
  status.in_flight_records = window.in_flight_records();
  status.in_flight_bytes = window.in_flight_bytes();
  status.max_in_flight_records = window.max_records();
  status.max_in_flight_bytes = config_.window.max_bytes;
  if (const InFlightRecord* oldest = window.oldest()) {
    status.oldest_in_flight = WallNow() - oldest->commit_time;
  }
  AddLag(status);
  const SinkHealth sink = sinks_.Health();
  status.brokers_connected = sink.brokers_up;
  status.brokers_heard_age =
      std::chrono::duration_cast<milliseconds>(Clock::now() - brokers_seen_at_);
  status.topics = sink.topics;
  status.max_topics = sink.max_topics;
  status.parking = parking_.report();
  status.counters = sender_.counters();
  status.counters += snapshot_.counters();
  status.records_by_table =
      RecordsByTable(sender_.builder().routes(), sender_.sent_by_source());
  status.records_by_topic = sinks_.AcknowledgedByTopic();
  status.latency = sender_.latencies().all();
  status.latency_by_table = sender_.latencies().by_table();
  status.latency_by_topic = sender_.latencies().by_topic();
  if (batcher_) {
    status.transactions = transactions_;
    status.transactions->records = batcher_->committed_records();
    status.transactions->given_up += batcher_->withdrawn();
    if (sink.hidden_since) {
      status.transactions->hidden_for =
          std::chrono::duration_cast<milliseconds>(Clock::now() -
                                                   *sink.hidden_since);
    }
    if (const auto begun_at = batcher_->begun_at()) {
      status.transactions->open_for =
          std::chrono::duration_cast<milliseconds>(Clock::now() - *begun_at);
    }
  }
  status.reconnects = session_.streams() > 0 ? session_.streams() - 1 : 0;
  status.skipped = stream_.skipped();
  return status;
}

void Relay::RenewCredentials() {
  const Sink* sink = sinks_.sink();
  if (session_.shutdown_deadline() || sink == nullptr) return;
  if (!sink->credentials_have_changed()) return;
  sender_.OnSinkFailed(absl::CancelledError("its credentials have changed"));
}

}  // namespace walpost
