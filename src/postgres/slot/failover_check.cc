#include "postgres/slot/failover_check.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_split.h"
#include "base/sql_name.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/conninfo_keywords.h"

namespace walpost {

namespace asio = boost::asio;

void FailoverCheck::Add(Severity severity, FindingId id, std::string subject,
                        std::string text, std::string remedy) {
  findings_.push_back({severity, std::move(id), std::move(subject),
                       std::move(text), std::move(remedy)});
}

asio::awaitable<absl::StatusOr<Findings>> FailoverCheck::OnPrimary(
    std::optional<SlotState> state) {
  findings_.clear();
  const std::string subject = fmt::format("slot {}", slot_);
  if (state && !state->failover) {
    Add(Severity::kWarning, FindingId("slot_not_failover"), subject,
        "is not a failover slot, although postgres.failover is on: after a "
        "promotion walpost stops",
        fmt::format("stop walpost, then: psql \"dbname=... "
                    "replication=database\" -c 'ALTER_REPLICATION_SLOT {} "
                    "(FAILOVER true)'",
                    QuoteName(slot_)));
  } else {
    Add(Severity::kOk, FindingId("slot_failover_ok"), subject,
        "is kept for a promotion (failover)");
  }
  const std::string sql =
      "SELECT current_setting('synchronized_standby_slots'), "
      "(SELECT string_agg(name, ', ') FROM unnest(string_to_array("
      "replace(current_setting('synchronized_standby_slots'), ' ', ''), ',')) "
      "name WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots s "
      "WHERE s.slot_name = name AND s.slot_type = 'physical' AND s.active))";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  const std::string setting = "synchronized_standby_slots";
  if (rows.Text(0, 0).empty()) {
    Add(Severity::kWarning, FindingId("synchronized_standby_slots_empty"),
        setting,
        "is empty: Kafka may have events that a promoted standby lacks",
        "ALTER SYSTEM SET synchronized_standby_slots = '<the standby's "
        "physical slot>'; SELECT pg_reload_conf();");
  } else if (rows.Get(0, 1)) {
    Add(Severity::kWarning, FindingId("synchronized_standby_slots_inactive"),
        setting,
        fmt::format("waits for {}, and no standby streams from that: nothing "
                    "is published until one does",
                    rows.Text(0, 1)),
        "start the standby, or take its slot out of the setting");
  } else {
    Add(Severity::kOk, FindingId("synchronized_standby_slots_ok"), setting,
        fmt::format("is {}", rows.Text(0, 0)));
  }
  co_return findings_;
}

asio::awaitable<absl::StatusOr<Findings>> FailoverCheck::OnStandby(
    std::string host) {
  findings_.clear();
  const std::string recovering = "SELECT pg_is_in_recovery()";
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(recovering);
  if (!rows.ok()) co_return rows.status();
  if (!rows->Bool(0, 0)) co_return findings_;  // this is the primary
  const std::string settings =
      "SELECT current_setting('sync_replication_slots'), "
      "current_setting('hot_standby_feedback'), "
      "current_setting('primary_slot_name'), "
      "current_setting('primary_conninfo') ~ 'dbname'";
  rows = co_await connection_.Execute(settings);
  if (!rows.ok()) co_return rows.status();
  CheckStandbySettings(*rows, host);
  const std::string copy = fmt::format(
      "SELECT synced AND NOT temporary AND invalidation_reason IS NULL "
      "FROM pg_catalog.pg_replication_slots WHERE slot_name = {}",
      connection_.Literal(slot_));
  rows = co_await connection_.Execute(copy);
  if (!rows.ok()) co_return rows.status();
  const std::string subject = fmt::format("slot {} on {}", slot_, host);
  if (rows->size() == 0) {
    Add(Severity::kWarning, FindingId("standby_slot_missing"), subject,
        "is missing: a promotion leaves a gap",
        "fix the settings of the standby, or SELECT "
        "pg_sync_replication_slots(); there");
  } else if (!rows->Bool(0, 0)) {
    Add(Severity::kWarning, FindingId("standby_slot_not_ready"), subject,
        "is not ready yet: a promotion now leaves a gap",
        "let walpost run, so that the slot advances on the primary");
  } else {
    Add(Severity::kOk, FindingId("standby_slot_ok"), subject,
        "is in step (synced)");
  }
  co_return findings_;
}

void FailoverCheck::CheckStandbySettings(const QueryRows& settings,
                                         const std::string& host) {
  const std::string subject = fmt::format("standby {}", host);
  const size_t before = findings_.size();
  if (settings.Text(0, 0) != "on") {
    Add(Severity::kWarning, FindingId("sync_replication_slots_off"), subject,
        "does not copy slots",
        "there: ALTER SYSTEM SET sync_replication_slots = on; SELECT "
        "pg_reload_conf();");
  }
  if (settings.Text(0, 1) != "on") {
    Add(Severity::kWarning, FindingId("hot_standby_feedback_off"), subject,
        "has hot_standby_feedback off, without which slots are not copied",
        "there: ALTER SYSTEM SET hot_standby_feedback = on; SELECT "
        "pg_reload_conf();");
  }
  if (settings.Text(0, 2).empty()) {
    Add(Severity::kWarning, FindingId("primary_slot_name_empty"), subject,
        "streams without a physical slot (primary_slot_name)",
        "make one on the primary and name it on the standby");
  }
  if (!settings.Bool(0, 3)) {
    Add(Severity::kWarning, FindingId("primary_conninfo_without_dbname"),
        subject, "has no dbname in primary_conninfo",
        "add dbname=... to it: copying slots needs a database");
  }
  if (findings_.size() == before) {
    Add(Severity::kOk, FindingId("standby_ok"), subject, "copies slots");
  }
}

namespace {

std::vector<std::string> ListOf(const PQconninfoOption* parsed,
                                std::string_view keyword) {
  for (const auto* option = parsed; option->keyword != nullptr; ++option) {
    if (keyword == option->keyword && option->val != nullptr) {
      return absl::StrSplit(std::string(option->val), ',');
    }
  }
  return {};
}

}  // namespace

std::vector<HostConninfo> SplitHosts(const std::string& conninfo) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(conninfo.c_str(), nullptr), &PQconninfoFree);
  std::vector<HostConninfo> split;
  if (parsed == nullptr) return split;
  const std::vector<std::string> hosts = ListOf(parsed.get(), "host");
  const std::vector<std::string> ports = ListOf(parsed.get(), "port");
  const std::vector<std::string> addresses = ListOf(parsed.get(), "hostaddr");
  if (hosts.size() < 2) return split;
  // libpq rejects such a conninfo.
  if (ports.size() > 1 && ports.size() != hosts.size()) return split;
  for (size_t i = 0; i < hosts.size(); ++i) {
    std::string port;
    if (!ports.empty()) port = ports[ports.size() == 1 ? 0 : i];
    const std::string address = i < addresses.size() ? addresses[i] : "";
    split.push_back(
        {port.empty() ? hosts[i] : hosts[i] + ":" + port,
         WithKeywords(parsed.get(), {{"host", hosts[i]},
                                     {"port", port},
                                     {"hostaddr", address},
                                     {"target_session_attrs", "any"}})});
  }
  return split;
}

}  // namespace walpost
