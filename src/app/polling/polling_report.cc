// Signs for the diagnosis, and status, of a PollingRelay.
#include <algorithm>
#include <chrono>

#include "app/polling/polling_relay.h"
#include "app/process/records_by_table.h"
#include "app/sink/sinks.h"

namespace walpost {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

RelaySigns PollingRelay::Signs() const {
  const MonotonicTime now = Clock::now();
  const auto since = [now](MonotonicTime then) {
    return std::chrono::duration_cast<milliseconds>(now - then);
  };
  RelaySigns signs;
  signs.sink = WordsOf(config_.sink);
  signs.brokers = SinkAddress(config_);
  signs.draining = shutdown_deadline_.has_value();
  signs.in_flight_records = polling_sender_.in_flight_records();
  signs.is_streaming = true;
  signs.has_streamed = knows_tables_ || !pollers_.empty();
  signs.trouble = tables_trouble_;
  // Tables that another walpost polls are not a problem. If all are, this
  // instance is a standby.
  absl::Status waits_for;
  size_t standbys = 0;
  for (const auto& poller : pollers_) {
    if (poller->is_standby()) {
      waits_for = poller->trouble();
      ++standbys;
      continue;
    }
    if (signs.trouble.ok()) signs.trouble = poller->trouble();
    const milliseconds awaited = poller->connection().answer_awaited_for(now);
    if (awaited > signs.server_silent_for) {
      signs.server_silent_for = awaited;
      signs.unanswered_table = poller->report().table;
    }
    signs.is_streaming &= poller->is_connected();
    signs.has_streamed &= poller->was_ready();
    const auto& oldest = poller->report().oldest_pending;
    if (oldest) {
      signs.oldest_in_flight =
          std::max<std::chrono::microseconds>(signs.oldest_in_flight, *oldest);
    }
  }
  signs.pause = Pause();
  for (const auto& poller : pollers_) {
    if (!poller->pause() || pollers_.size() == 1) continue;
    const std::string& table = poller->report().table;
    signs.paused_tables += (signs.paused_tables.empty() ? "" : ", ") + table;
  }
  if (!signs.paused_tables.empty()) signs.paused_tables += ' ';
  if (signs.trouble.ok()) signs.trouble = polling_sender_.trouble();
  if (signs.trouble.ok()) signs.trouble = sink_trouble_;
  signs.cursor_is_in_use =
      signs.trouble.ok() && standbys > 0 && standbys == pollers_.size();
  if (signs.cursor_is_in_use) signs.trouble = waits_for;
  signs.brokers_were_reached = brokers_.were_reached();
  signs.brokers_unreachable_for = since(brokers_.heard_at());
  if (polling_sender_.in_flight_records() > 0 || HasPendingRows()) {
    signs.unacknowledged_for = since(brokers_.acknowledged_at());
  }
  const SinkHealth kafka = sinks_.Health();
  signs.unknown_topic = kafka.missing_topic;
  signs.topic_refusal = kafka.topic_refusal;
  signs.brokers_are_connected = kafka.brokers_up > 0;
  signs.broker_trouble = kafka.trouble;
  signs.sink_delay = polling_sender_.delay();
  signs.brokers_reject_credentials = kafka.rejects_credentials;
  return signs;
}

// The newest one.
std::optional<PauseRecord> PollingRelay::Pause() const {
  std::optional<PauseRecord> newest;
  for (const auto& poller : pollers_) {
    const std::optional<PauseRecord> pause = poller->pause();
    if (pause && (!newest || pause->at > newest->at)) newest = pause;
  }
  return newest;
}

RelayStatus PollingRelay::Status() const {
  RelayStatus status;
  status.pause = Pause();
  state_log_.Report(Clock::now(), status);
  status.in_flight_records = polling_sender_.in_flight_records();
  status.in_flight_bytes = polling_sender_.in_flight_bytes();
  status.max_in_flight_records = config_.window.max_records;
  status.max_in_flight_bytes = config_.window.max_bytes;
  if (const auto oldest = polling_sender_.oldest()) {
    status.oldest_in_flight = WallNow() - *oldest;
  }
  status.oldest_unpublished =
      std::max(status.oldest_in_flight, std::chrono::microseconds(0));
  const SinkHealth sink = sinks_.Health();
  status.brokers_connected = sink.brokers_up;
  status.brokers_heard_age = std::chrono::duration_cast<milliseconds>(
      Clock::now() - brokers_.heard_at());
  status.topics = sink.topics;
  status.max_topics = sink.max_topics;
  status.counters = polling_sender_.counters();
  status.counters.rewinds = rewinds_;
  status.records_by_table = RecordsByTable(polling_sender_.builder().routes(),
                                           polling_sender_.sent_by_source());
  status.records_by_topic = sinks_.AcknowledgedByTopic();
  status.latency = polling_sender_.latencies().all();
  status.latency_by_table = polling_sender_.latencies().by_table();
  status.latency_by_topic = polling_sender_.latencies().by_topic();
  for (const auto& poller : pollers_) {
    status.polled_tables.push_back(poller->ReportAt(Clock::now()));
    status.server_version =
        std::max(status.server_version, poller->connection().server_version());
    const auto& oldest = status.polled_tables.back().oldest_pending;
    if (oldest) {
      status.oldest_unpublished = std::max<std::chrono::microseconds>(
          *status.oldest_unpublished, *oldest);
    }
    if (poller->sessions() > 1) status.reconnects += poller->sessions() - 1;
  }
  return status;
}

}  // namespace walpost
