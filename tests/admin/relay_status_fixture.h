// A RelayStatus in which every value is another one, so that a page that
// mixes two up shows it.
#pragma once

#include "health/relay_status.h"

namespace walpost {

inline RelayStatus SomeStatus() {
  RelayStatus status;
  status.state = RelayState::kStreaming;
  status.in_state_for = std::chrono::seconds(90);
  status.slot = "walpost";
  status.system_identifier = "7312345678901234567";
  status.timeline = 3;
  status.numbering = 81985529216486895;
  status.server_version = 170002;
  status.server_wal_end = Lsn(0x16'B374'D948);
  status.received = Lsn(0x16'B374'D8A8);
  status.confirmed = Lsn(0x16'B374'D848);
  status.acknowledged = {Lsn(0x16'B374'D878), 4};
  status.retained_wal_bytes = 33'554'432;
  status.wal_status = "extended";
  status.slot_report_age = std::chrono::milliseconds(1500);
  status.lag = std::chrono::microseconds(3'250'000);
  status.oldest_unpublished = std::chrono::microseconds(4'500'000);
  status.brokers_connected = 21;
  status.brokers_heard_age = std::chrono::milliseconds(2750);
  status.records_by_table.Add("public.outbox", 71);
  status.records_by_table.Add("public.events", 72);
  status.records_by_topic.Add("orders", 73);
  status.checkpoint_store = "file x";
  status.checkpoint.confirmed = Lsn(0x16'B374'D840);
  status.checkpoint.position = {Lsn(0x16'B374'D838), 2};
  status.restart_lsn = Lsn(0x16'B374'D840);
  status.in_flight_records = 12;
  status.in_flight_bytes = 3456;
  status.wal_budget_bytes = 67'108'864;
  status.wal_budget_time_left = std::chrono::seconds(90);
  status.guard_lsn = Lsn(0x16'B300'0000);
  status.max_in_flight_records = 20'000;
  status.max_in_flight_bytes = 16'777'216;
  status.topics = 7;
  status.max_topics = 5'000;
  status.oldest_in_flight = std::chrono::microseconds(1'250'000);
  status.counters = {.events = 101,
                     .repeats = 2,
                     .produced = 99,
                     .acknowledged = 87,
                     .value_bytes = 24'750,
                     .claim_checks = 18,
                     .not_delivered = 4,
                     .transactions = 51,
                     .rewinds = 5,
                     .dead_letters = {0, 15},
                     .skipped = {16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15},
                     .parked = {0, 0, 0, 0, 17},
                     .parked_behind = 18};
  status.parking = {3,          41, 4,   std::chrono::minutes(12),
                    {"orders"}, 5,  600, std::chrono::seconds(70),
                    "",         "", {},  0,
                    ""};
  status.latency.Record(std::chrono::microseconds(90));
  status.latency.Record(std::chrono::microseconds(120));
  status.latency.Record(std::chrono::minutes(10));
  NamedLatencies& by_table = status.latency_by_table;
  by_table.Record(by_table.IndexOf("public.outbox"),
                  std::chrono::milliseconds(700), 5);
  NamedLatencies& by_topic = status.latency_by_topic;
  by_topic.Record(by_topic.IndexOf("orders"), std::chrono::milliseconds(20), 2);
  by_topic.Record(by_topic.IndexOf("orders"), std::chrono::minutes(1));
  by_topic.IndexOf("refunds");
  status.reconnects = 6;
  status.skipped.unknown_messages = 7;
  status.skipped.rows_of_other_tables = 8;
  status.updated_rows = {{"public.outbox", 20}};
  status.skipped.updates = 9;
  status.skipped.key_updates = 10;
  status.skipped.deletes = 11;
  status.skipped.truncates = 12;
  status.skipped.nontransactional_messages = 13;
  status.skipped.messages_of_other_prefixes = 14;
  status.skipped.events_of_other_origins = 61;
  status.skipped.transactions_of_other_origins = 62;
  return status;
}

}  // namespace walpost
