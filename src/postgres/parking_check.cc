#include "postgres/parking_check.h"

#include <boost/asio/use_awaitable.hpp>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/parking_sql.h"
#include "postgres/relation_oid.h"

namespace walpost {

boost::asio::awaitable<absl::StatusOr<Findings>> CheckParkingTable(
    Connection& connection, std::string name, ParkingTable::Letters letters) {
  const std::string oid = RelationOidSql(connection, name);
  const std::string schema = connection.Literal(name.substr(0, name.find('.')));
  const std::string sql = fmt::format(
      "SELECT {0} IS NOT NULL, coalesce((SELECT bool_and("
      "has_table_privilege({0}, privilege)) FROM unnest(ARRAY["
      "'SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege), false), "
      "coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM "
      "pg_catalog.pg_namespace WHERE nspname = {1}), false), "
      "current_setting('synchronous_standby_names') <> '', EXISTS (SELECT 1 "
      "FROM pg_catalog.pg_stat_replication WHERE application_name <> '' AND "
      "state = 'streaming' AND usesysid IS NOT NULL AND pid NOT IN (SELECT "
      "active_pid FROM pg_catalog.pg_replication_slots WHERE slot_type = "
      "'logical' AND active_pid IS NOT NULL)), (SELECT count(*) = 3 FROM "
      "pg_catalog.pg_attribute WHERE attrelid = {0} AND attname "
      "IN ('id', 'type', 'headers') AND NOT attisdropped), coalesce((SELECT "
      "pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class WHERE oid = "
      "{0}), false), coalesce((SELECT has_schema_privilege(oid, 'USAGE') FROM "
      "pg_catalog.pg_namespace WHERE nspname = {1}), true)",
      oid, schema);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  const bool exists = rows.Bool(0, 0);
  const bool may_use = rows.Bool(0, 1) && rows.Bool(0, 7);
  const bool may_make = rows.Bool(0, 2);
  Finding finding{Severity::kOk, fmt::format("parking.table {}", name),
                  exists ? "can be written" : "will be made", ""};
  const bool lacks_columns =
      exists && !rows.Bool(0, 5) && letters == ParkingTable::Letters::kKept;
  const bool may_add = may_make && rows.Bool(0, 6);
  const bool lacks_right = exists ? !may_use : !may_make;
  if (lacks_right || (lacks_columns && !may_add)) {
    finding.severity = Severity::kError;
    finding.text =
        "lacks the columns of dead letters, and this role may not "
        "add them";
    if (!exists) finding.text = "is missing, and this role may not make it";
    if (exists && !may_use) {
      finding.text = "may not be read and written by this role";
    }
    finding.remedy =
        fmt::format("run as the owner of the schema (sql/parked.sql): {}",
                    ParkingSql::Grant(name, PQuser(connection.raw())));
  }
  Findings findings;
  findings.push_back(std::move(finding));
  const bool is_synchronous = rows.Bool(0, 3);
  const bool has_standby = rows.Bool(0, 4);
  if (has_standby && !is_synchronous) {
    findings.push_back(
        {Severity::kWarning, "synchronous_standby_names",
         "is empty: a standby that is promoted may lack parked events",
         "ALTER SYSTEM SET synchronous_standby_names = '...'; SELECT "
         "pg_reload_conf();"});
  }
  co_return findings;
}

}  // namespace walpost
