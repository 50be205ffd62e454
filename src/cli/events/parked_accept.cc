#include "cli/events/parked_accept.h"

#include <optional>

#include "base/status_macros.h"
#include "cli/shared/current_user.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "fmt/format.h"
#include "parking/parking_table_facts.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/connect/sqlstate.h"
#include "postgres/parking/parked_list.h"
#include "postgres/parking/parked_table_record.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// A missing table that nothing needs is not made again.
asio::awaitable<absl::StatusOr<ParkedTable>> MakeIfNeeded(
    Connection& connection, const Config& config,
    const ParkingTableFacts& facts) {
  if (!facts.exists() && !config.parks()) co_return ParkedTable();
  if (!facts.exists()) {
    const std::string create = ParkingSql::Create(config.parking.table);
    const absl::StatusOr<QueryRows> made = co_await connection.Execute(create);
    if (SqlstateOf(made.status()) == kSqlstateInsufficientPrivilege) {
      co_return absl::FailedPreconditionError(fmt::format(
          "role {} may not make table {}; run as the owner of the schema "
          "(sql/parked.sql), and this verb again: {}",
          facts.role, facts.name, facts.grant_sql));
    }
    if (!made.ok()) co_return made.status();
  }
  const std::string sql =
      fmt::format("SELECT {}", RelationOidSql(connection, facts.name));
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  co_return ParkedTable{facts.name, static_cast<uint32_t>(rows.Unsigned(0, 0))};
}

}  // namespace

asio::awaitable<absl::StatusOr<int>> AcceptParkedTable(
    asio::any_io_executor executor, const Config& config, std::string by,
    std::string why) {
  const WalSourceOptions& postgres = config.postgres;
  const ConnectionOptions options =
      ParkedList::Session(postgres, "parked-verb");
  WALPOST_CO_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(*connection, postgres.publication,
                               postgres.slot));
  const ParkedTable before = birth ? birth->parked_table : ParkedTable();
  const ParkingNames names{config.parking.table, postgres.slot, ""};
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkingTableFacts facts,
      co_await ReadParkingTableFacts(*connection, names, postgres.publication,
                                     before, Lsn()));
  if (!FindProblemOfHistory(facts)) {
    co_return absl::FailedPreconditionError(fmt::format(
        "parking.table {} is the one that slot {} has used, or it has used "
        "none: there is nothing to accept",
        facts.name, postgres.slot));
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const ParkedTable now, co_await MakeIfNeeded(*connection, config, facts));
  const absl::Status recorded = co_await RecordParkedTable(
      *connection, postgres.publication, postgres.slot, now);
  if (SqlstateOf(recorded) == kSqlstateInsufficientPrivilege) {
    co_return absl::FailedPreconditionError(fmt::format(
        "role {} does not own publication {}, whose comment says which table "
        "slot {} has used: run this verb as its owner, with --set "
        "postgres.conninfo='... user=OWNER'",
        facts.role, postgres.publication, postgres.slot));
  }
  if (!recorded.ok()) co_return recorded;
  Print(
      "accepted by {}: slot {} goes on {} table {} ({}). walpost verify -c "
      "FILE names "
      "the rows that are neither published nor on record\n",
      by.empty() ? CurrentUser() : by, postgres.slot,
      now.name.empty() ? "without" : "with", facts.name, why);
  co_return kExitOk;
}

}  // namespace walpost
