#include "postgres/parking/parking_check.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "parking/parking_table_facts.h"
#include "postgres/parking/parked_table_record.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Physical standbys that get the WAL, and synchronous_standby_names.
asio::awaitable<absl::StatusOr<Findings>> CheckPromotion(
    Connection& connection) {
  const std::string sql =
      "SELECT current_setting('synchronous_standby_names') <> '', EXISTS "
      "(SELECT 1 FROM pg_catalog.pg_stat_replication WHERE application_name <> "
      "'' AND state = 'streaming' AND usesysid IS NOT NULL AND pid NOT IN "
      "(SELECT active_pid FROM pg_catalog.pg_replication_slots WHERE slot_type "
      "= 'logical' AND active_pid IS NOT NULL))";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  Findings findings;
  const bool is_synchronous = rows.Bool(0, 0);
  const bool has_standby = rows.Bool(0, 1);
  if (has_standby && !is_synchronous) {
    findings.push_back(
        {Severity::kWarning, FindingId("synchronous_standby_names_empty"),
         "synchronous_standby_names",
         "is empty: a standby that is promoted may lack parked events",
         "ALTER SYSTEM SET synchronous_standby_names = '...'; SELECT "
         "pg_reload_conf();"});
  }
  co_return findings;
}

}  // namespace

asio::awaitable<absl::StatusOr<Findings>> CheckParking(
    Connection& connection, const WalSourceOptions& postgres, std::string table,
    bool is_wanted) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, postgres.publication,
                               postgres.slot));
  const ParkedTable on_record = birth ? birth->parked_table : ParkedTable();
  const ParkingNames names{std::move(table), postgres.slot, ""};
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkingTableFacts facts,
      co_await ReadParkingTableFacts(connection, names, postgres.publication,
                                     on_record, Lsn()));
  facts.is_wanted = is_wanted;
  Findings findings;
  // A stream that does not want the table looks only for what it has stored.
  if (is_wanted || !on_record.name.empty()) findings = CheckParkingTable(facts);
  if (!is_wanted) co_return findings;
  WALPOST_CO_ASSIGN_OR_RETURN(const Findings promotion,
                              co_await CheckPromotion(connection));
  findings.insert(findings.end(), promotion.begin(), promotion.end());
  co_return findings;
}

}  // namespace walpost
