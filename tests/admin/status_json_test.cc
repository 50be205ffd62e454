#include "admin/status_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/relay_status_fixture.h"
#include "base/reason_code.h"
#include "fmt/format.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;

std::string JsonOf(const RelayStatus& status) {
  const WallTime now(std::chrono::milliseconds(1'795'858'812'345));
  return StatusJson(status, {.version = "1.2.3",
                             .now = now,
                             .running = std::chrono::milliseconds(12'500),
                             .warnings = {{now, LogLevel::kWarn, "a \"b\""}}});
}

TEST(StatusJsonTest, ShowsEverything) {
  EXPECT_EQ(JsonOf(SomeStatus()), R"({
  "version": "1.2.3",
  "time": "2026-11-28T09:40:12.345Z",
  "running_seconds": 12.5,
  "source": "wal",
  "state": "streaming",
  "ready": true,
  "reason": "",
  "in_state_seconds": 90.0,
  "reason_code": "",
  "causes": [],
  "stopped_reason_code": null,
  "stopped_position": null,
  "stopped_event_id": null,
  "stopped_event_digest": null,
  "stopped_table": null,
  "paused": false,
  "paused_by": null,
  "paused_at": null,
  "pause_reason": null,
  "slot": "walpost",
  "system_identifier": "7312345678901234567",
  "timeline": 3,
  "numbering": 81985529216486895,
  "server_version": 170002,
  "server_wal_end": "16/B374D948",
  "received_lsn": "16/B374D8A8",
  "acknowledged_position": "16/B374D878/4",
  "confirmed_lsn": "16/B374D848",
  "lag_bytes": 256,
  "lag_seconds": 3.25,
  "oldest_unpublished_seconds": 4.5,
  "retained_wal_bytes": 33554432,
  "wal_status": "extended",
  "slot_report_age_seconds": 1.5,
  "wal_budget_bytes": 67108864,
  "wal_budget_seconds_left": 90.0,
  "guard_lsn": "16/B3000000",
  "replay_window_bytes": 7657544,
  "checkpoint_store": "file x",
  "checkpoint_lsn": "16/B374D840",
  "checkpoint_position": "16/B374D838/2",
  "restart_lsn": "16/B374D840",
  "restart_rereads_bytes": 104,
  "parked_keys": 3,
  "parked_events": 41,
  "oldest_parked_seconds": 720.0,
  "isolated_topics": [
    "orders"
  ],
  "isolated_events": 5,
  "isolated_bytes": 600,
  "oldest_isolated_seconds": 70.0,
  "brokers_connected": 21,
  "brokers_heard_age_seconds": 2.75,
  "in_flight_records": 12,
  "in_flight_bytes": 3456,
  "max_in_flight_records": 20000,
  "max_in_flight_bytes": 16777216,
  "oldest_in_flight_seconds": 1.25,
  "topics": 7,
  "max_topics": 5000,
  "records_by_table": {
    "public.outbox": 71,
    "public.events": 72
  },
  "records_by_topic": {
    "orders": 73
  },
  "events": 101,
  "repeats": 2,
  "produced": 99,
  "acknowledged": 87,
  "value_bytes": 24750,
  "claim_checks": 18,
  "not_delivered": 4,
  "dead_letters": 15,
  "dead_letters_by_class": {
    "topic_illegal": 15
  },
  "events_left_out": 31,
  "events_parked": 35,
  "transactions": 51,
  "rewinds": 5,
  "reconnects": 6,
  "unknown_messages": 7,
  "rows_of_other_tables": 8,
  "updated_rows": 20,
  "skipped_updates": 9,
  "skipped_key_updates": 10,
  "skipped_deletes": 11,
  "skipped_truncates": 12,
  "skipped_nontransactional_messages": 13,
  "skipped_messages_of_other_prefixes": 14,
  "replicated_events": 61,
  "replicated_transactions": 62,
  "guarantee": "at_least_once",
  "commit_to_acknowledgement_count": 3,
  "commit_to_acknowledgement_sum_seconds": 600.00021,
  "commit_to_acknowledgement_p50_seconds": 0.000141,
  "commit_to_acknowledgement_p99_seconds": 148.29104,
  "commit_to_acknowledgement_buckets": [
    [
      0.0001,
      1
    ],
    [
      0.000141,
      1
    ],
    [
      148.29104,
      1
    ]
  ],
  "warnings": [
    {
      "time": "2026-11-28T09:40:12.345Z",
      "level": "warn",
      "text": "a \"b\""
    }
  ]
}
)");
}

TEST(StatusJsonTest, P8NamesTheEventThatNothingPasses) {
  RelayStatus status = SomeStatus();
  status.stoppage = BlockedEvent{{Lsn(0x16'B374'D948), 7},
                                 "id-1",
                                 Undeliverable(kReasonTopicIllegal, "x")};
  status.stoppage->table = "shop.outbox";
  EXPECT_THAT(JsonOf(status),
              HasSubstr(R"(  "stopped_reason_code": "topic_illegal",
  "stopped_position": "16/B374D948/7",
  "stopped_event_id": "id-1",
  "stopped_event_digest": "",
  "stopped_table": "shop.outbox",
)"));
}

TEST(StatusJsonTest, ShowsNullForWhatIsNotKnown) {
  const std::string json = JsonOf(RelayStatus());
  EXPECT_THAT(json, HasSubstr("\"retained_wal_bytes\": null,\n"));
  EXPECT_THAT(json, HasSubstr("\"wal_status\": null,\n"));
  for (const char* name : {"received_lsn", "acknowledged_position",
                           "confirmed_lsn", "lag_bytes"}) {
    EXPECT_THAT(json, HasSubstr(fmt::format("\"{}\": null,\n", name)));
  }
}

TEST(StatusJsonTest, AddsUpPolledTables) {
  EXPECT_THAT(JsonOf(RelayStatus()), ::testing::Not(HasSubstr("pending_rows")));
  RelayStatus status;
  status.polled_tables = {{"public.a", 7, 2, std::chrono::milliseconds(1'500)},
                          {"public.b", 1, 0, std::chrono::milliseconds(500)}};
  EXPECT_THAT(JsonOf(status), HasSubstr(R"(  "pending_rows": 8,
  "failed_rows": 2,
  "oldest_pending_seconds": 1.5,
  "polled_tables": [
    {
      "table": "public.a",
      "pending_rows": 7,
      "failed_rows": 2,
      "oldest_pending_seconds": 1.5,
      "look_age_seconds": null
    },
)"));
}

TEST(StatusJsonTest, AddsUpWhatWasPruned) {
  RelayStatus status = SomeStatus();
  status.retention = {{"public.a", 7, 2, 4}, {"public.b", 5, 1, 2}};
  EXPECT_THAT(JsonOf(status), HasSubstr(R"(  "pruned_rows": 12,
  "dropped_partitions": 3,
  "kept_rows": 6,
  "retention": [
    {
      "table": "public.a",
      "pruned_rows": 7,
      "dropped_partitions": 2,
      "kept_rows": 4,
      "pass_age_seconds": null
    },
)"));
}

TEST(StatusJsonTest, NamesTheCauses) {
  RelayStatus status = SomeStatus();
  status.causes = {"kafka", "wal"};
  EXPECT_THAT(JsonOf(status), HasSubstr(R"(  "causes": [
    "kafka",
    "wal"
  ],
)"));
}

TEST(StatusJsonTest, IsJsonWhateverTheReasonHolds) {
  RelayStatus status = SomeStatus();
  status.state = RelayState::kStuck;
  status.reason = "ERROR: \"x\\y\"\n\tHINT: \x01 größer";
  rapidjson::Document document;
  document.Parse(JsonOf(status).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_EQ(document["reason"].GetString(), status.reason);
  EXPECT_STREQ(document["state"].GetString(), "stuck");
  EXPECT_FALSE(document["ready"].GetBool());
}

}  // namespace
}  // namespace walpost
