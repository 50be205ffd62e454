#include "admin/status_json.h"

#include <chrono>
#include <concepts>
#include <optional>

#include "absl/time/time.h"
#include "base/reason_code.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace walpost {
namespace {

class JsonObjectWriter {
 public:
  JsonObjectWriter() {
    writer_.SetIndent(' ', 2);
    writer_.StartObject();
  }

  template <typename T>
  void Add(std::string_view name, const T& value) {
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    Put(value);
  }

  std::string Finish() {
    writer_.EndObject();
    return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
  }

 private:
  void Put(std::string_view text) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Put(std::same_as<bool> auto value) { writer_.Bool(value); }
  void Put(uint64_t value) { writer_.Uint64(value); }
  void Put(Lsn lsn) { Put(lsn.ToString()); }
  void Put(std::chrono::microseconds duration) {
    writer_.Double(std::chrono::duration<double>(duration).count());
  }
  void Put(WallTime time) {
    Put(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                         absl::FromUnixMicros(time.time_since_epoch().count()),
                         absl::UTCTimeZone()));
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    writer_.StartArray();
    for (const T& value : values) Put(value);
    writer_.EndArray();
  }
  void Put(const NamedCounts& counts) {
    writer_.StartObject();
    counts.ForEach(
        [this](std::string_view name, uint64_t count) { Add(name, count); });
    writer_.EndObject();
  }
  void Put(const PolledTableReport& table) {
    writer_.StartObject();
    Add("table", table.table);
    Add("pending_rows", table.pending);
    Add("failed_rows", table.failed);
    Add("oldest_pending_seconds", table.oldest_pending);
    Add("look_age_seconds", table.look_age);
    writer_.EndObject();
  }
  void Put(const RetentionReport& table) {
    writer_.StartObject();
    Add("table", table.table);
    Add("pruned_rows", table.pruned_rows);
    Add("dropped_partitions", table.dropped_partitions);
    Add("kept_rows", table.kept_rows);
    Add("pass_age_seconds", table.pass_age);
    writer_.EndObject();
  }
  void Put(const RecentWarning& warning) {
    writer_.StartObject();
    Add("time", warning.time);
    Add("level", NameIn(kLogLevels, warning.level));
    Add("text", warning.text);
    writer_.EndObject();
  }
  // [upper bound, count] of each bucket that is not empty.
  void Put(const LatencyHistogram& latency) {
    writer_.StartArray();
    for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
      if (latency.bucket(i) == 0) continue;
      writer_.StartArray();
      Put(LatencyHistogram::UpperBound(i));
      Put(latency.bucket(i));
      writer_.EndArray();
    }
    writer_.EndArray();
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    if (value) {
      Put(*value);
    } else {
      writer_.Null();
    }
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

// The event that stops the flow; nulls if there is none.
void AddStoppage(const std::optional<BlockedEvent>& stoppage,
                 JsonObjectWriter& json) {
  std::optional<std::string> code;
  std::optional<std::string> position;
  std::optional<std::string> event_id;
  std::optional<std::string> digest;
  std::optional<std::string> table;
  if (stoppage) {
    code = ReasonCodeOf(stoppage->reason);
    if (stoppage->is_in_stream()) {
      position = ToString(stoppage->position);
      digest = stoppage->digest;
    }
    event_id = stoppage->event_id;
    if (!stoppage->table.empty()) table = stoppage->table;
  }
  json.Add("stopped_reason_code", code);
  json.Add("stopped_position", position);
  json.Add("stopped_event_id", event_id);
  json.Add("stopped_event_digest", digest);
  json.Add("stopped_table", table);
}

// On record; nulls if it is not paused.
void AddPause(const std::optional<PauseRecord>& pause, JsonObjectWriter& json) {
  std::optional<std::string> by;
  std::optional<std::string> at;
  std::optional<std::string> why;
  if (pause) {
    by = pause->by;
    at = PausedAt(*pause);
    why = pause->why;
  }
  json.Add("paused", pause.has_value());
  json.Add("paused_by", by);
  json.Add("paused_at", at);
  json.Add("pause_reason", why);
}

void AddCheckpoint(const RelayStatus& status, JsonObjectWriter& json) {
  json.Add("checkpoint_store", status.checkpoint_store);
  std::optional<Lsn> lsn;
  std::optional<std::string> position;
  if (status.checkpoint_store) {
    lsn = status.checkpoint.confirmed;
    position = ToString(status.checkpoint.position);
  }
  json.Add("checkpoint_lsn", lsn);
  json.Add("checkpoint_position", position);
  json.Add("restart_lsn", status.restart_lsn);
  json.Add("restart_rereads_bytes",
           BytesBetween(status.restart_lsn, status.received));
}

// Sums over all tables; absent if the WAL is read.
void AddPolledTables(const RelayStatus& status, JsonObjectWriter& json) {
  if (!status.is_polling()) return;
  uint64_t pending = 0;
  uint64_t failed = 0;
  std::optional<std::chrono::microseconds> oldest;
  for (const PolledTableReport& table : status.polled_tables) {
    pending += table.pending;
    failed += table.failed;
    if (!table.oldest_pending) continue;
    if (!oldest || *table.oldest_pending > *oldest) {
      oldest = table.oldest_pending;
    }
  }
  json.Add("pending_rows", pending);
  json.Add("failed_rows", failed);
  json.Add("oldest_pending_seconds", oldest);
  json.Add("polled_tables", status.polled_tables);
}

// Sums over all tables; absent if `run` does not prune.
void AddRetention(const RelayStatus& status, JsonObjectWriter& json) {
  if (status.retention.empty()) return;
  uint64_t rows = 0;
  uint64_t partitions = 0;
  uint64_t kept = 0;
  for (const RetentionReport& table : status.retention) {
    kept += table.kept_rows;
    rows += table.pruned_rows;
    partitions += table.dropped_partitions;
  }
  json.Add("pruned_rows", rows);
  json.Add("dropped_partitions", partitions);
  json.Add("kept_rows", kept);
  json.Add("retention", status.retention);
}

NamedCounts ByClass(const DeliveryCounters::ByClass& counts) {
  NamedCounts named;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) named.Add(ErrorClassName(i), counts[i]);
  }
  return named;
}

void AddCounters(const RelayStatus& status, JsonObjectWriter& json) {
  const DeliveryCounters& counters = status.counters;
  json.Add("events", counters.events);
  json.Add("repeats", counters.repeats);
  json.Add("produced", counters.produced);
  json.Add("acknowledged", counters.acknowledged);
  json.Add("value_bytes", counters.value_bytes);
  json.Add("claim_checks", counters.claim_checks);
  json.Add("not_delivered", counters.not_delivered);
  json.Add("dead_letters", DeliveryCounters::Sum(counters.dead_letters));
  json.Add("dead_letters_by_class", ByClass(counters.dead_letters));
  json.Add("events_left_out", DeliveryCounters::Sum(counters.skipped));
  json.Add("events_parked",
           DeliveryCounters::Sum(counters.parked) + counters.parked_behind);
  json.Add("transactions", counters.transactions);
  json.Add("rewinds", counters.rewinds);
  json.Add("reconnects", status.reconnects);
  const SkippedChanges& skipped = status.skipped;
  json.Add("unknown_messages", skipped.unknown_messages);
  json.Add("rows_of_other_tables", skipped.rows_of_other_tables);
  if (status.is_polling()) return;
  uint64_t updated = 0;
  for (const UpdatedRows& table : status.updated_rows) updated += table.updates;
  json.Add("updated_rows", updated);
  json.Add("skipped_updates", skipped.updates);
  json.Add("skipped_key_updates", skipped.key_updates);
  json.Add("skipped_deletes", skipped.deletes);
  json.Add("skipped_truncates", skipped.truncates);
  json.Add("skipped_nontransactional_messages",
           skipped.nontransactional_messages);
  json.Add("skipped_messages_of_other_prefixes",
           skipped.messages_of_other_prefixes);
  json.Add("replicated_events", skipped.events_of_other_origins);
  json.Add("replicated_transactions", skipped.transactions_of_other_origins);
}

// Nulls if another instance has the stream, or none has had it yet.
void AddStream(const RelayStatus& status, JsonObjectWriter& json) {
  std::optional<Lsn> received;
  std::optional<std::string> acknowledged;
  std::optional<Lsn> confirmed;
  if (status.has_stream()) {
    received = status.received;
    acknowledged = ToString(status.acknowledged);
    confirmed = status.confirmed;
  }
  json.Add("received_lsn", received);
  json.Add("acknowledged_position", acknowledged);
  json.Add("confirmed_lsn", confirmed);
}

}  // namespace

std::string StatusJson(const RelayStatus& status,
                       const StatusContext& context) {
  JsonObjectWriter json;
  json.Add("version", context.version);
  json.Add("time", context.now);
  json.Add("running_seconds", context.running);
  json.Add("source", status.is_polling() ? std::string_view("polling") : "wal");
  json.Add("state", ToString(status.state));
  json.Add("ready", IsReady(status.state));
  json.Add("reason", status.reason);
  json.Add("in_state_seconds", status.in_state_for);
  json.Add("reason_code", status.reason_code);
  json.Add("causes", status.causes);
  AddStoppage(status.stoppage, json);
  AddPause(status.pause, json);

  json.Add("slot", status.slot);
  json.Add("system_identifier", status.system_identifier);
  json.Add("timeline", uint64_t{status.timeline});
  json.Add("numbering", status.numbering);
  json.Add("server_version", static_cast<uint64_t>(status.server_version));

  json.Add("server_wal_end", status.server_wal_end);
  AddStream(status, json);
  json.Add("lag_bytes", status.lag_bytes());
  json.Add("lag_seconds", status.lag);
  json.Add("oldest_unpublished_seconds", status.oldest_unpublished);
  json.Add("retained_wal_bytes", status.retained_wal_bytes);
  json.Add("wal_status", status.wal_status);
  json.Add("slot_report_age_seconds", status.slot_report_age);
  json.Add("wal_budget_bytes", status.wal_budget_bytes);
  json.Add("wal_budget_seconds_left", status.wal_budget_time_left);

  json.Add("guard_lsn", status.guard_lsn);
  json.Add("replay_window_bytes", status.replay_window_bytes());

  AddCheckpoint(status, json);

  AddPolledTables(status, json);
  AddRetention(status, json);
  json.Add("parked_keys", status.parking.keys);
  json.Add("parked_events", status.parking.events);
  json.Add("oldest_parked_seconds", status.parking.oldest);
  json.Add("isolated_topics", status.parking.topics);
  json.Add("isolated_events", status.parking.isolated_events);
  json.Add("isolated_bytes", status.parking.isolated_bytes);
  json.Add("oldest_isolated_seconds", status.parking.oldest_isolated);
  json.Add("brokers_connected",
           static_cast<uint64_t>(status.brokers_connected));
  json.Add("brokers_heard_age_seconds", status.brokers_heard_age);
  json.Add("in_flight_records", status.in_flight_records);
  json.Add("in_flight_bytes", status.in_flight_bytes);
  json.Add("max_in_flight_records", status.max_in_flight_records);
  json.Add("max_in_flight_bytes", status.max_in_flight_bytes);
  json.Add("oldest_in_flight_seconds", status.oldest_in_flight);
  json.Add("topics", status.topics);
  json.Add("max_topics", status.max_topics);
  json.Add("records_by_table", status.records_by_table);
  json.Add("records_by_topic", status.records_by_topic);

  AddCounters(status, json);

  json.Add("guarantee", status.transactions ? std::string_view("exactly_once")
                                            : "at_least_once");
  if (status.transactions) {
    json.Add("kafka_transactions_committed", status.transactions->committed);
    json.Add("kafka_transactions_given_up", status.transactions->given_up);
    json.Add("kafka_transactions_fenced", status.transactions->fenced);
    json.Add("kafka_transaction_open_seconds", status.transactions->open_for);
    json.Add("hidden_records_seconds", status.transactions->hidden_for);
    json.Add("split_transactions", status.transactions->splits);
  }

  const LatencyHistogram& latency = status.latency;
  json.Add("commit_to_acknowledgement_count", latency.count());
  json.Add("commit_to_acknowledgement_sum_seconds", latency.sum());
  json.Add("commit_to_acknowledgement_p50_seconds", latency.Quantile(0.5));
  json.Add("commit_to_acknowledgement_p99_seconds", latency.Quantile(0.99));
  json.Add("commit_to_acknowledgement_buckets", latency);
  json.Add("warnings", context.warnings);
  return json.Finish();
}

}  // namespace walpost
