#include "admin/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "admin/relay_status_fixture.h"

namespace walpost {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

ProcessUsage SomeUsage() {
  return {.resident_memory_bytes = 14'680'064,
          .cpu = std::chrono::microseconds(2'500'000),
          .started_at = std::chrono::milliseconds(1'700'000'000'250),
          .open_descriptors = 31,
          .max_descriptors = 1024};
}

std::string SomePage() {
  return MetricsPage(SomeStatus(), SomeUsage(), "1.2.3");
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Samples(const std::string& page) {
  std::vector<std::string> lines = Lines(page);
  std::erase_if(lines, [](const auto& line) { return line.starts_with('#'); });
  return lines;
}

TEST(MetricsPageTest, ShowsPositionsAsBytes) {
  EXPECT_THAT(Samples(SomePage()),
              IsSupersetOf({"walpost_server_wal_end_lsn_bytes 97500059976",
                            "walpost_received_lsn_bytes 97500059816",
                            "walpost_confirmed_lsn_bytes 97500059720",
                            "walpost_lag_bytes 256",
                            "walpost_guard_lsn_bytes 97492402176",
                            "walpost_replay_window_bytes 7657544",
                            "walpost_retained_wal_bytes 33554432"}));
}

TEST(MetricsPageTest, ShowsPolledTablesInPlaceOfTheWal) {
  RelayStatus status = SomeStatus();
  status.polled_tables = {{"public.a", 7, 2, std::chrono::milliseconds(1'500)},
                          {"public.b", 0, 0, std::nullopt}};
  const std::string page = MetricsPage(status, SomeUsage(), "1.2.3");
  EXPECT_THAT(
      Samples(page),
      IsSupersetOf({"walpost_pending_rows{table=\"public.a\"} 7",
                    "walpost_failed_rows{table=\"public.a\"} 2",
                    "walpost_oldest_pending_seconds{table=\"public.a\"} 1.5",
                    "walpost_oldest_pending_seconds{table=\"public.b\"} 0"}));
  EXPECT_THAT(page, Not(HasSubstr("lsn_bytes")));
}

TEST(MetricsPageTest, ShowsWhatWasPrunedWhereRunPrunes) {
  RelayStatus status = SomeStatus();
  EXPECT_THAT(MetricsPage(status, SomeUsage(), "1.2.3"),
              Not(HasSubstr("pruned")));
  status.retention = {{"public.a", 7, 2, 5}, {"public.b", 0, 0, 0}};
  EXPECT_THAT(
      Samples(MetricsPage(status, SomeUsage(), "1.2.3")),
      IsSupersetOf({"walpost_pruned_rows_total{table=\"public.a\"} 7",
                    "walpost_pruned_rows_total{table=\"public.b\"} 0",
                    "walpost_dropped_partitions_total{table=\"public.a\"} 2",
                    "walpost_dropped_partitions_total{table=\"public.b\"} 0",
                    "walpost_kept_rows{table=\"public.a\"} 5",
                    "walpost_kept_rows{table=\"public.b\"} 0"}));
}

TEST(MetricsPageTest, ShowsAHighLsnToTheByte) {
  RelayStatus status = SomeStatus();
  status.confirmed = Lsn((uint64_t{1} << 53) - 1);
  EXPECT_THAT(Samples(MetricsPage(status, SomeUsage(), "1.2.3")),
              Contains("walpost_confirmed_lsn_bytes 9007199254740991"));
}

TEST(MetricsPageTest, ShowsNoPositionsOfAStreamThatAnotherInstanceHas) {
  RelayStatus status = SomeStatus();
  status.state = RelayState::kStandby;
  const std::string page = MetricsPage(status, SomeUsage(), "1.2.3");
  for (const char* name :
       {"walpost_lag_bytes", "walpost_received_lsn_bytes",
        "walpost_confirmed_lsn_bytes", "walpost_replay_window_bytes"}) {
    EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr(name)));
  }
  // Of the slot, whoever has it.
  EXPECT_THAT(Samples(page), Contains("walpost_retained_wal_bytes 33554432"));
}

TEST(MetricsPageTest, ShowsWhatIsInFlightAndItsLimits) {
  EXPECT_THAT(Samples(SomePage()),
              IsSupersetOf({"walpost_in_flight_records 12",
                            "walpost_in_flight_bytes 3456",
                            "walpost_max_in_flight_records 20000",
                            "walpost_max_in_flight_bytes 16777216",
                            "walpost_oldest_in_flight_seconds 1.25",
                            "walpost_topics 7", "walpost_max_topics 5000"}));
}

TEST(MetricsPageTest, ShowsEachCounter) {
  EXPECT_THAT(
      Samples(SomePage()),
      IsSupersetOf(
          {"walpost_events_total 101",
           "walpost_repeated_events_total 2",
           "walpost_produced_records_total 99",
           "walpost_acknowledged_records_total 87",
           "walpost_produced_value_bytes_total 24750",
           "walpost_claim_checks_total 18",
           "walpost_not_delivered_records_total 4",
           "walpost_transactions_total 51",
           "walpost_rewinds_total 5",
           "walpost_reconnects_total 6",
           "walpost_unknown_messages_total 7",
           "walpost_rows_of_other_tables_total 8",
           "walpost_dead_letters_total{class=\"topic_illegal\"} 15",
           "walpost_dead_letters_total{class=\"record_refused\"} 0",
           "walpost_dead_letters_total{class=\"unroutable\"} 0",
           "walpost_skipped_events_total{class=\"topic_field_missing\"} 16",
           "walpost_skipped_events_total{class=\"record_refused\"} 15",
           "walpost_parked_events_total{class=\"headers_unreadable\"} 17",
           "walpost_events_parked_behind_total 18",
           "walpost_parked_keys 3",
           "walpost_isolated_topics 1",
           "walpost_parked_events 41",
           "walpost_oldest_parked_seconds 720",
           "walpost_updated_rows_total{table=\"public.outbox\"} 20",
           "walpost_skipped_changes_total{kind=\"update\"} 9",
           "walpost_skipped_changes_total{kind=\"key_update\"} 10",
           "walpost_skipped_changes_total{kind=\"delete\"} 11",
           "walpost_skipped_changes_total{kind=\"truncate\"} 12",
           "walpost_skipped_changes_total{kind=\"nontransactional_message\"} "
           "13",
           "walpost_skipped_changes_total{kind=\"message_of_other_prefix\"} "
           "14",
           "walpost_replicated_events_total 61",
           "walpost_replicated_transactions_total 62"}));
}

TEST(MetricsPageTest, ShowsTheStateAsOneOfAll) {
  EXPECT_THAT(
      Samples(SomePage()),
      IsSupersetOf({"walpost_state{state=\"starting\"} 0",
                    "walpost_state{state=\"streaming\"} 1",
                    "walpost_state{state=\"catching up\"} 0",
                    "walpost_state{state=\"stuck\"} 0",
                    "walpost_state{state=\"draining\"} 0", "walpost_paused 0",
                    "walpost_ready 1", "walpost_in_state_seconds 90"}));
}

TEST(MetricsPageTest, IsNotReadyWhenPaused) {
  RelayStatus status = SomeStatus();
  status.state = RelayState::kPaused;
  status.pause = PauseRecord{true, "alice", WallTime(), "upgrade"};
  EXPECT_THAT(Samples(MetricsPage(status, SomeUsage(), "1.2.3")),
              IsSupersetOf({"walpost_state{state=\"paused\"} 1",
                            "walpost_paused 1", "walpost_ready 0"}));
}

TEST(MetricsPageTest, IsNotReadyWhenStuck) {
  RelayStatus status = SomeStatus();
  status.state = RelayState::kStuck;
  EXPECT_THAT(
      Samples(MetricsPage(status, SomeUsage(), "1.2.3")),
      IsSupersetOf({"walpost_state{state=\"streaming\"} 0",
                    "walpost_state{state=\"stuck\"} 1", "walpost_ready 0"}));
  status.reason_code = "slot_lost";
  EXPECT_THAT(Samples(MetricsPage(status, SomeUsage(), "1.2.3")),
              Contains("walpost_reason{reason_code=\"slot_lost\"} 1"));
}

TEST(MetricsPageTest, ShowsTheStatusOfTheSlotAsOneOfAll) {
  EXPECT_THAT(Samples(SomePage()),
              IsSupersetOf({"walpost_wal_status{status=\"reserved\"} 0",
                            "walpost_wal_status{status=\"extended\"} 1",
                            "walpost_wal_status{status=\"unreserved\"} 0",
                            "walpost_wal_status{status=\"lost\"} 0"}));
}

TEST(MetricsPageTest, LeavesOutWhatIsNotKnown) {
  const std::string page = MetricsPage(RelayStatus(), ProcessUsage(), "1.2.3");
  EXPECT_THAT(page, Not(HasSubstr("walpost_retained_wal_bytes")));
  EXPECT_THAT(page, Not(HasSubstr("walpost_wal_status")));
  EXPECT_THAT(page, Not(HasSubstr("process_resident_memory_bytes")));
  EXPECT_THAT(page, Not(HasSubstr("process_open_fds")));
  EXPECT_THAT(page, Not(HasSubstr("process_start_time_seconds")));
  EXPECT_THAT(page, Not(HasSubstr("walpost_lag_seconds")));
  EXPECT_THAT(page, Not(HasSubstr("walpost_oldest_unpublished_seconds")));
}

TEST(MetricsPageTest, ShowsWhatRunsAndWhereItReads) {
  EXPECT_THAT(Samples(SomePage()),
              IsSupersetOf({"walpost_build_info{version=\"1.2.3\"} 1",
                            "walpost_source_info{slot=\"walpost\","
                            "system_identifier=\"7312345678901234567\","
                            "timeline=\"3\",server_version=\"170002\"} 1"}));
}

TEST(MetricsPageTest, ShowsTheProcessByItsUsualNames) {
  EXPECT_THAT(Samples(SomePage()),
              IsSupersetOf({"process_cpu_seconds_total 2.5",
                            "process_resident_memory_bytes 14680064",
                            "process_start_time_seconds 1700000000.25",
                            "process_open_fds 31", "process_max_fds 1024"}));
}

TEST(MetricsPageTest, ShowsHowFarBehindItIsInTime) {
  EXPECT_THAT(Samples(SomePage()),
              IsSupersetOf({"walpost_lag_seconds 3.25",
                            "walpost_oldest_unpublished_seconds 4.5",
                            "walpost_brokers_connected 21",
                            "walpost_brokers_heard_age_seconds 2.75"}));
}

TEST(MetricsPageTest, ShowsRecordsByTableAndByTopic) {
  EXPECT_THAT(
      Samples(SomePage()),
      IsSupersetOf({"walpost_table_records_total{table=\"public.outbox\"} 71",
                    "walpost_table_records_total{table=\"public.events\"} 72",
                    "walpost_topic_records_total{topic=\"orders\"} 73"}));
}

TEST(MetricsPageTest, ShowsEachCause) {
  RelayStatus status = SomeStatus();
  status.causes = {"kafka", "credentials"};
  EXPECT_THAT(Samples(MetricsPage(status, SomeUsage(), "1.2.3")),
              IsSupersetOf({"walpost_cause{cause=\"kafka\"} 1",
                            "walpost_cause{cause=\"credentials\"} 1",
                            "walpost_cause{cause=\"postgres\"} 0"}));
}

TEST(MetricsPageTest, ShowsTheAgesOfLooks) {
  using std::chrono::milliseconds;
  RelayStatus status = SomeStatus();
  status.polled_tables = {{"public.a", 7, 2, std::nullopt, milliseconds(1250)},
                          {"public.b", 0, 0, std::nullopt}};
  status.retention = {{"public.a", 7, 2, 5, milliseconds(2500)}};
  const std::string page = MetricsPage(status, SomeUsage(), "1.2.3");
  EXPECT_THAT(
      Samples(page),
      IsSupersetOf(
          {"walpost_table_report_age_seconds{table=\"public.a\"} 1.25",
           "walpost_retention_pass_age_seconds{table=\"public.a\"} 2.5"}));
  EXPECT_THAT(page, Not(HasSubstr("report_age_seconds{table=\"public.b\"}")));
}

TEST(MetricsPageTest, EscapesLabels) {
  RelayStatus status = SomeStatus();
  status.slot = "a\"b\\c\nd";
  EXPECT_THAT(MetricsPage(status, SomeUsage(), "1.2.3"),
              HasSubstr(R"(slot="a\"b\\c\nd")"));
}

TEST(MetricsPageTest, CountsLatenciesUpToEachBound) {
  const std::string name = "walpost_commit_to_acknowledgement_seconds";
  EXPECT_THAT(Samples(SomePage()),
              IsSupersetOf({name + "_bucket{le=\"0.0001\"} 1",
                            name + "_bucket{le=\"0.000141\"} 2",
                            name + "_bucket{le=\"104.8576\"} 2",
                            name + "_bucket{le=\"+Inf\"} 3", name + "_count 3",
                            name + "_sum 600.00021"}));
}

TEST(MetricsPageTest, CountsLatenciesByTableAndByTopic) {
  const std::string table = "walpost_table_latency_seconds";
  const std::string topic = "walpost_topic_latency_seconds";
  EXPECT_THAT(
      Samples(SomePage()),
      IsSupersetOf({table + "_bucket{table=\"public.outbox\",le=\"0.25\"} 0",
                    table + "_bucket{table=\"public.outbox\",le=\"1\"} 5",
                    table + "_sum{table=\"public.outbox\"} 3.5",
                    topic + "_bucket{topic=\"orders\",le=\"0.01\"} 0",
                    topic + "_bucket{topic=\"orders\",le=\"0.05\"} 2",
                    topic + "_bucket{topic=\"orders\",le=\"30\"} 2",
                    topic + "_bucket{topic=\"orders\",le=\"+Inf\"} 3",
                    topic + "_count{topic=\"orders\"} 3",
                    topic + "_sum{topic=\"orders\"} 60.04",
                    topic + "_count{topic=\"refunds\"} 0"}));
}

// What `promtool check metrics` asks of a page, in short.
TEST(MetricsPageTest, EveryLineParses) {
  const std::regex help_line("# HELP ([a-z_]+) (.*[.])");
  const std::regex type_line("# TYPE ([a-z_]+) (gauge|counter|histogram)");
  const std::regex sample_line(
      R"re(([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\]|\\[\\n"])*",?)+\})? )re"
      R"re((-?[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?))re");
  std::set<std::string> series;
  std::string family;
  std::string type;
  const std::string page = SomePage();
  ASSERT_THAT(page, testing::EndsWith("\n"));
  for (const std::string& line : Lines(page)) {
    std::smatch match;
    if (std::regex_match(line, match, help_line)) {
      EXPECT_NE(match[1], family) << "two of a name";
      family = match[1];
      type.clear();
    } else if (std::regex_match(line, match, type_line)) {
      EXPECT_EQ(match[1], family) << line;
      type = match[2];
      EXPECT_EQ(type == "counter", family.ends_with("_total")) << line;
    } else {
      ASSERT_TRUE(std::regex_match(line, match, sample_line)) << line;
      EXPECT_FALSE(type.empty()) << "no TYPE before " << line;
      const std::string name = match[1];
      if (type == "histogram") {
        EXPECT_THAT(name, StartsWith(family + "_")) << line;
      } else {
        EXPECT_EQ(name, family) << line;
      }
      EXPECT_TRUE(series.insert(name + match[2].str()).second)
          << "twice: " << line;
    }
  }
  EXPECT_GT(series.size(), 70u);
}

TEST(MetricsPageTest, BucketsNeverFall) {
  const std::regex bucket(
      R"re(walpost_[a-z_]+_bucket\{le="(.+)"\} ([0-9]+))re");
  double last_bound = 0;
  uint64_t last_count = 0;
  size_t buckets = 0;
  for (const std::string& line : Samples(SomePage())) {
    std::smatch match;
    if (!std::regex_match(line, match, bucket)) continue;
    ++buckets;
    const double bound = std::stod(match[1]);  // reads "+Inf", too
    const uint64_t count = std::stoull(match[2]);
    EXPECT_GT(bound, last_bound) << line;
    EXPECT_GE(count, last_count) << line;
    last_bound = bound;
    last_count = count;
  }
  EXPECT_EQ(buckets, LatencyHistogram::kBuckets);
  EXPECT_EQ(last_count, 3u);
}

TEST(ProcessUsageTest, IsThatOfThisProcess) {
  const ProcessUsage usage = ReadProcessUsage();
  EXPECT_GT(usage.resident_memory_bytes, 1u << 20);
  EXPECT_LT(usage.resident_memory_bytes, uint64_t{1} << 40);
  EXPECT_GT(usage.cpu.count(), 0);
  ASSERT_TRUE(usage.started_at.has_value());
  const auto age =
      std::chrono::system_clock::now().time_since_epoch() - *usage.started_at;
  EXPECT_GT(age, -std::chrono::seconds(2));
  EXPECT_LT(age, std::chrono::hours(1));
  ASSERT_TRUE(usage.open_descriptors.has_value());
  const uint64_t before = *usage.open_descriptors;
  const int more = dup(STDERR_FILENO);
  EXPECT_EQ(ReadProcessUsage().open_descriptors, before + 1);
  close(more);
  EXPECT_GE(usage.max_descriptors, before);
}

}  // namespace
}  // namespace walpost
