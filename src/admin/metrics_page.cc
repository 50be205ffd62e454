#include "admin/metrics_page.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/metrics_writer.h"
#include "base/reason_code.h"
#include "health/diagnosis.h"

namespace walpost {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

constexpr RelayState kStates[] = {
    RelayState::kStarting,   RelayState::kStandby,  RelayState::kStreaming,
    RelayState::kCatchingUp, RelayState::kDegraded, RelayState::kAtRisk,
    RelayState::kPaused,     RelayState::kStuck,    RelayState::kDraining};

// Values of pg_replication_slots.wal_status.
constexpr std::string_view kWalStatuses[] = {"reserved", "extended",
                                             "unreserved", "lost"};

double Seconds(std::chrono::microseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

void AddState(const RelayStatus& status, std::string_view version,
              MetricsWriter& page) {
  page.Info("walpost_build_info", "The version that runs.",
            {{"version", std::string(version)}});
  page.Info("walpost_source_info", "Source of the events.",
            {{"slot", status.slot},
             {"system_identifier", status.system_identifier},
             {"timeline", std::to_string(status.timeline)},
             {"server_version", std::to_string(status.server_version)}});
  page.Family("walpost_stopped",
              "1 while an event that cannot be delivered stops the flow, with "
              "the reason code.",
              MetricType::Gauge);
  if (status.stoppage) {
    page.OneOfMany("reason_code", ReasonCodeOf(status.stoppage->reason), true);
  }
  page.Family("walpost_state", "1 for the current state, 0 for the others.",
              MetricType::Gauge);
  for (const RelayState state : kStates) {
    page.OneOfMany("state", ToString(state), state == status.state);
  }
  page.Family("walpost_reason",
              "1 for the reason code of the state, if it has one.",
              MetricType::Gauge);
  if (!status.reason_code.empty()) {
    page.OneOfMany("reason_code", status.reason_code, true);
  }
  page.Family("walpost_cause",
              "1 for each thing that holds events up or may soon do so, 0 for "
              "the others.",
              MetricType::Gauge);
  for (const std::string_view cause : kCauses) {
    page.OneOfMany(
        "cause", cause,
        std::ranges::find(status.causes, cause) != status.causes.end());
  }
  page.Gauge("walpost_paused",
             "1 while an operator has paused the slot, or a polled table.",
             uint64_t{status.pause.has_value()});
  page.Gauge("walpost_ready", "1 if /readyz answers 200, else 0.",
             uint64_t{IsReady(status.state)});
  page.Gauge("walpost_in_state_seconds", "Seconds since the state changed.",
             Seconds(status.in_state_for));
}

void AddStream(const RelayStatus& status, MetricsWriter& page) {
  page.Gauge(
      "walpost_received_lsn_bytes",
      "WAL position before which every event was handed to the producer.",
      status.received);
  page.Gauge("walpost_confirmed_lsn_bytes",
             "WAL position before which every event is durable in Kafka.",
             status.confirmed);
  page.Gauge("walpost_lag_bytes",
             "Bytes of WAL from the confirmed LSN to the server's end.",
             *status.lag_bytes());
}

void AddWal(const RelayStatus& status, MetricsWriter& page) {
  page.Gauge("walpost_server_wal_end_lsn_bytes",
             "End of the server's WAL, as last reported.",
             status.server_wal_end);
  if (status.has_stream()) AddStream(status, page);
  if (status.retained_wal_bytes) {
    page.Gauge("walpost_retained_wal_bytes",
               "Bytes of WAL that the server keeps for the slot.",
               *status.retained_wal_bytes);
  }
  if (status.slot_report_age) {
    page.Gauge("walpost_slot_report_age_seconds",
               "Seconds since the slot, the publication and the decisions of "
               "operators were last seen.",
               Seconds(*status.slot_report_age));
  }
  if (status.guard_lsn) {
    page.Gauge("walpost_guard_lsn_bytes",
               "WAL position that a replay can go back to.", *status.guard_lsn);
  }
  if (status.replay_window_bytes()) {
    page.Gauge("walpost_replay_window_bytes",
               "Bytes of WAL before the confirmed LSN that can be replayed.",
               *status.replay_window_bytes());
  }
  if (status.wal_budget_bytes > 0) {
    page.Gauge("walpost_wal_budget_bytes",
               "Bytes of WAL that the server may keep for the slot.",
               status.wal_budget_bytes);
  }
  if (status.wal_budget_time_left) {
    page.Gauge(
        "walpost_wal_budget_left_seconds",
        "Seconds until the WAL budget is exhausted at the recent growth rate.",
        Seconds(*status.wal_budget_time_left));
  }
  if (status.wal_status) {
    page.Family("walpost_wal_status",
                "1 for the slot's wal_status in pg_replication_slots.",
                MetricType::Gauge);
    for (const std::string_view known : kWalStatuses) {
      page.OneOfMany("status", known, known == *status.wal_status);
    }
  }
}

void AddPolledTables(const RelayStatus& status, MetricsWriter& page) {
  const auto add = [&page](const PolledTableReport& table, double value) {
    ClientMetric& sample = page.Sample();
    sample.label = {{"table", table.table}};
    sample.gauge.value = value;
  };
  page.Family("walpost_pending_rows",
              "Rows that are not published yet, counted up to 100000.",
              MetricType::Gauge);
  for (const PolledTableReport& table : status.polled_tables) {
    add(table, static_cast<double>(table.pending));
  }
  page.Family("walpost_oldest_pending_seconds",
              "Age in seconds of the first row that is not published yet; 0 if "
              "there is none.",
              MetricType::Gauge);
  for (const PolledTableReport& table : status.polled_tables) {
    add(table, table.oldest_pending ? Seconds(*table.oldest_pending) : 0);
  }
  page.Family("walpost_failed_rows",
              "Rows that were given up, counted up to 100000.",
              MetricType::Gauge);
  for (const PolledTableReport& table : status.polled_tables) {
    add(table, static_cast<double>(table.failed));
  }
}

void AddRetention(const RelayStatus& status, MetricsWriter& page) {
  if (status.retention.empty()) return;
  page.Family("walpost_pruned_rows_total",
              "Old rows that were sent and deleted, without those of dropped "
              "partitions.",
              MetricType::Counter);
  for (const RetentionReport& table : status.retention) {
    page.Count("table", table.table, table.pruned_rows);
  }
  page.Family("walpost_dropped_partitions_total",
              "Past partitions that were dropped.", MetricType::Counter);
  for (const RetentionReport& table : status.retention) {
    page.Count("table", table.table, table.dropped_partitions);
  }
  page.Family("walpost_kept_rows",
              "Old rows that the last retention pass kept, because they were "
              "not sent or nothing proves it.",
              MetricType::Gauge);
  for (const RetentionReport& table : status.retention) {
    ClientMetric& sample = page.Sample();
    sample.label = {{"table", table.table}};
    sample.gauge.value = static_cast<double>(table.kept_rows);
  }
}

void AddLag(const RelayStatus& status, MetricsWriter& page) {
  if (status.lag) {
    page.Gauge("walpost_lag_seconds",
               "Age of the newest commit that was received, by the clock of "
               "the server; 0 if the WAL is read to its end. Grows while "
               "nothing is read.",
               Seconds(*status.lag));
  }
  if (status.oldest_unpublished) {
    page.Gauge("walpost_oldest_unpublished_seconds",
               "Every event that was committed longer ago is in Kafka or set "
               "aside.",
               Seconds(*status.oldest_unpublished));
  }
}

void AddBrokers(const RelayStatus& status, MetricsWriter& page) {
  page.Gauge("walpost_brokers_connected",
             "Brokers that the producer is connected to.",
             static_cast<uint64_t>(status.brokers_connected));
  if (status.brokers_heard_age) {
    page.Gauge("walpost_brokers_heard_age_seconds",
               "Seconds since a broker has answered.",
               Seconds(*status.brokers_heard_age));
  }
}

// Ages of the last looks at what changes beside the stream.
void AddLooks(const RelayStatus& status, MetricsWriter& page) {
  const auto add = [&page](const std::string& table,
                           std::optional<std::chrono::milliseconds> age) {
    if (!age) return;
    ClientMetric& sample = page.Sample();
    sample.label = {{"table", table}};
    sample.gauge.value = Seconds(*age);
  };
  if (status.is_polling()) {
    page.Family("walpost_table_report_age_seconds",
                "Seconds since the pending rows of the table were counted.",
                MetricType::Gauge);
    for (const PolledTableReport& table : status.polled_tables) {
      add(table.table, table.look_age);
    }
  }
  if (status.retention.empty()) return;
  page.Family("walpost_retention_pass_age_seconds",
              "Seconds since a retention pass ended without an error.",
              MetricType::Gauge);
  for (const RetentionReport& table : status.retention) {
    add(table.table, table.pass_age);
  }
}

void AddNamedCounts(const RelayStatus& status, MetricsWriter& page) {
  page.Family("walpost_table_records_total",
              "Records of events handed to the producer by table, without the "
              "initial snapshot; 100 tables by name, the rest as other.",
              MetricType::Counter);
  status.records_by_table.ForEach(
      [&page](std::string_view table, uint64_t count) {
        page.Count("table", table, count);
      });
  page.Family("walpost_topic_records_total",
              "Records durable at the brokers by topic, since the producer "
              "was made; 100 topics by name, the rest as other.",
              MetricType::Counter);
  status.records_by_topic.ForEach(
      [&page](std::string_view topic, uint64_t count) {
        page.Count("topic", topic, count);
      });
}

void AddInFlight(const RelayStatus& status, MetricsWriter& page) {
  page.Gauge("walpost_in_flight_records",
             "Records produced and not yet acknowledged.",
             status.in_flight_records);
  page.Gauge("walpost_in_flight_bytes",
             "Bytes produced and not yet acknowledged.",
             status.in_flight_bytes);
  page.Gauge("walpost_max_in_flight_records",
             "Records in flight at which reading stops.",
             status.max_in_flight_records);
  page.Gauge("walpost_max_in_flight_bytes",
             "Bytes in flight at which reading stops.",
             status.max_in_flight_bytes);
  page.Gauge("walpost_oldest_in_flight_seconds",
             "Seconds since the commit of the oldest record in flight.",
             Seconds(status.oldest_in_flight));
  page.Gauge("walpost_topics",
             "Topics that records have gone to since the producer began.",
             status.topics);
  page.Gauge("walpost_max_topics",
             "Topics at which an event for a further one cannot be delivered.",
             status.max_topics);
}

void AddCounters(const RelayStatus& status, MetricsWriter& page) {
  const DeliveryCounters& counters = status.counters;
  page.Counter("walpost_dropped_log_lines_total",
               "Log lines dropped because stderr was not read fast enough.",
               status.dropped_log_lines);
  page.Counter("walpost_events_total", "Events received, repeats included.",
               counters.events);
  page.Counter(
      "walpost_repeated_events_total",
      "Repeated events, skipped because they are in flight or acknowledged.",
      counters.repeats);
  page.Counter("walpost_transactions_total",
               "Transactions received completely, repeats included.",
               counters.transactions);
  page.Counter("walpost_produced_records_total",
               "Records handed to the producer.", counters.produced);
  page.Counter("walpost_produced_value_bytes_total",
               "Bytes of the values of produced records.",
               counters.value_bytes);
  page.Counter("walpost_claim_checks_total",
               "Produced records whose payloads stay in their rows.",
               counters.claim_checks);
  page.Counter("walpost_acknowledged_records_total",
               "Records durable at the brokers.", counters.acknowledged);
  page.Counter("walpost_not_delivered_records_total",
               "Records reported as failed or given up.",
               counters.not_delivered);
  page.Counter("walpost_rewinds_total", "Producers that were replaced.",
               counters.rewinds);
  page.Counter("walpost_reconnects_total",
               "Connections to Postgres after the first.", status.reconnects);
  page.Counter("walpost_unknown_messages_total",
               "Replication messages of unknown kinds, skipped.",
               status.skipped.unknown_messages);
  page.Counter("walpost_rows_of_other_tables_total",
               "Changed rows of published tables that are not in "
               "outbox.tables, skipped.",
               status.skipped.rows_of_other_tables);
}

void AddSetAside(const DeliveryCounters& counters, MetricsWriter& page) {
  const auto add = [&page](const DeliveryCounters::ByClass& counts) {
    for (size_t i = 0; i < counts.size(); ++i) {
      page.Count("class", ErrorClassName(i), counts[i]);
    }
  };
  page.Family("walpost_dead_letters_total",
              "Dead letters durable at the brokers, by class of error.",
              MetricType::Counter);
  add(counters.dead_letters);
  page.Family("walpost_skipped_events_total",
              "Events left out by choice, by class of error.",
              MetricType::Counter);
  add(counters.skipped);
  page.Family("walpost_parked_events_total",
              "Events parked because they cannot be delivered, by class of "
              "error.",
              MetricType::Counter);
  add(counters.parked);
  page.Counter("walpost_events_parked_behind_total",
               "Events parked because they follow such an event of their key.",
               counters.parked_behind);
}

void AddParking(const ParkingReport& parking, MetricsWriter& page) {
  page.Gauge("walpost_parked_keys", "Keys whose events wait for an operator.",
             parking.keys);
  page.Gauge("walpost_parked_events",
             "Events that are parked, as last read from their table.",
             parking.events);
  page.Gauge("walpost_oldest_parked_seconds",
             "Seconds since the oldest parked event was parked.",
             Seconds(parking.oldest));
  page.Gauge("walpost_isolated_topics",
             "Topics that take no records, and hold up no others.",
             parking.topics.size());
  page.Gauge("walpost_isolated_events",
             "Events that wait for isolated topics, as last read from their "
             "table.",
             parking.isolated_events);
  page.Gauge("walpost_isolated_bytes", "Bytes of these events.",
             parking.isolated_bytes);
  page.Gauge("walpost_oldest_isolated_seconds",
             "Seconds since the oldest of these events was parked.",
             Seconds(parking.oldest_isolated));
}

void AddSkipped(const SkippedChanges& skipped, MetricsWriter& page) {
  page.Family("walpost_skipped_changes_total",
              "Changes of outbox tables and logical messages that are not "
              "events, by kind.",
              MetricType::Counter);
  const std::pair<const char*, uint64_t> kinds[] = {
      {"update", skipped.updates},
      {"key_update", skipped.key_updates},
      {"delete", skipped.deletes},
      {"truncate", skipped.truncates},
      {"nontransactional_message", skipped.nontransactional_messages},
      {"message_of_other_prefix", skipped.messages_of_other_prefixes},
  };
  for (const auto& [kind, count] : kinds) page.Count("kind", kind, count);
  page.Counter("walpost_replicated_events_total",
               "Rows of outbox tables and logical messages that were not "
               "published, because their transaction has a replication origin "
               "(postgres.origin: none).",
               skipped.events_of_other_origins);
  page.Counter("walpost_replicated_transactions_total",
               "Transactions that had such rows or messages.",
               skipped.transactions_of_other_origins);
}

void AddTransactions(const TransactionReport& report, MetricsWriter& page) {
  page.Family("walpost_kafka_transactions_total",
              "Kafka transactions by outcome.", MetricType::Counter);
  page.Count("outcome", "committed", report.committed);
  page.Count("outcome", "given_up", report.given_up);
  page.Count("outcome", "fenced", report.fenced);
  page.Counter("walpost_kafka_transaction_records_total",
               "Records of committed Kafka transactions.", report.records);
  page.Counter("walpost_split_transactions_total",
               "Transactions of Postgres that did not fit into one of Kafka.",
               report.splits);
  page.Gauge("walpost_kafka_transaction_open_seconds",
             "Age of the open Kafka transaction; 0 if it is empty.",
             Seconds(report.open_for));
  page.Gauge("walpost_hidden_records_seconds",
             "How long acknowledged records have been hidden from consumers of "
             "committed records, by a transaction that is open.",
             Seconds(report.hidden_for));
  AddHistogram("walpost_kafka_commit_seconds",
               "Seconds to commit a Kafka transaction.", report.commit_time,
               page);
}

void AddUpdatedRows(const RelayStatus& status, MetricsWriter& page) {
  page.Family("walpost_updated_rows_total",
              "Rows of outbox tables that UPDATE has changed since walpost "
              "started, by the statistics of the server; each was published as "
              "it was at its INSERT.",
              MetricType::Counter);
  for (const UpdatedRows& table : status.updated_rows) {
    page.Count("table", table.table, table.updates);
  }
}

// Named as in Prometheus' own libraries.
void AddProcess(const ProcessUsage& usage, MetricsWriter& page) {
  page.Counter("process_cpu_seconds_total", "CPU seconds, user and system.",
               Seconds(usage.cpu));
  if (usage.resident_memory_bytes > 0) {
    page.Gauge("process_resident_memory_bytes", "Resident memory.",
               usage.resident_memory_bytes);
  }
  if (usage.started_at) {
    page.Gauge("process_start_time_seconds",
               "Start of the process in seconds since 1970.",
               Seconds(*usage.started_at));
  }
  if (usage.open_descriptors) {
    page.Gauge("process_open_fds", "Open file descriptors.",
               *usage.open_descriptors);
  }
  if (usage.max_descriptors > 0) {
    page.Gauge("process_max_fds", "Limit of open file descriptors.",
               usage.max_descriptors);
  }
}

}  // namespace

std::string MetricsPage(const RelayStatus& status, const ProcessUsage& usage,
                        std::string_view version) {
  MetricsWriter page;
  AddState(status, version, page);
  if (status.is_polling()) {
    AddPolledTables(status, page);
  } else {
    AddWal(status, page);
    AddSkipped(status.skipped, page);
    AddUpdatedRows(status, page);
  }
  AddRetention(status, page);
  AddLag(status, page);
  AddBrokers(status, page);
  AddLooks(status, page);
  AddInFlight(status, page);
  AddNamedCounts(status, page);
  AddCounters(status, page);
  AddSetAside(status.counters, page);
  if (!status.is_polling()) AddParking(status.parking, page);
  if (status.transactions) AddTransactions(*status.transactions, page);
  AddHistogram("walpost_commit_to_acknowledgement_seconds",
               "Seconds from the commit of an event to its acknowledgement; "
               "with exactly-once, to the commit of its Kafka transaction.",
               status.latency, page);
  AddHistograms("walpost_table_latency_seconds",
                "Seconds from the commit of an event to its acknowledgement, "
                "by table; 100 tables by name, the rest as other.",
                "table", status.latency_by_table, page);
  AddHistograms("walpost_topic_latency_seconds",
                "Seconds from the commit of an event to its acknowledgement, "
                "by topic; 100 topics by name, the rest as other.",
                "topic", status.latency_by_topic, page);
  AddProcess(usage, page);
  return page.Finish();
}

}  // namespace walpost
