#include "postgres/parking/parked_table_record.h"

#include <utility>

#include "base/status_macros.h"
#include "checkpoint/birth_record.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/publication_comment.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<ParkingTableFacts>> ReadParkingTableFacts(
    Connection& connection, ParkingNames names, std::string publication,
    ParkedTable on_record, Lsn from) {
  const ParkingSql::QuoteLiteral quote = [&connection](std::string_view text) {
    return connection.Literal(text);
  };
  ParkingTableFacts facts;
  facts.name = names.table;
  facts.quoted = QuoteQualifiedName(names.table);
  facts.slot = names.slot;
  facts.on_record = on_record;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const PublicationRights rights,
      co_await FindPublicationRights(connection, publication));
  facts.role = rights.role;
  facts.may_record = rights.may_alter;
  facts.grant_sql = ParkingSql::Grant(names.table, rights.role);
  const ParkingSql sql(names, quote);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql.Describe()));
  facts.oid = static_cast<uint32_t>(rows.Unsigned(0, 0));
  facts.may_create = rows.Bool(0, 7);
  if (facts.exists()) {
    facts.is_table = rows.Bool(0, 1);
    facts.is_durable = rows.Bool(0, 2);
    facts.missing_rights = rows.Text(0, 3);
    facts.hides_rows = rows.Bool(0, 4);
    facts.is_current = rows.Bool(0, 5);
    facts.is_owner = rows.Bool(0, 6);
    facts.has_events = rows.Bool(0, 8);
  }
  if (on_record.name.empty() || on_record.name == names.table) co_return facts;
  ParkingNames recorded = names;
  recorded.table = on_record.name;
  const ParkingSql earlier(recorded, quote);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows described,
                              co_await connection.Execute(earlier.Describe()));
  facts.recorded_oid_now = static_cast<uint32_t>(described.Unsigned(0, 0));
  if (facts.recorded_oid_now != on_record.oid) co_return facts;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const QueryRows in_use,
      co_await connection.Execute(earlier.IsInUse(from)));
  facts.recorded_is_in_use = in_use.Bool(0, 0);
  co_return facts;
}

asio::awaitable<absl::Status> RecordParkedTable(Connection& connection,
                                                std::string publication,
                                                std::string slot,
                                                ParkedTable table) {
  const CommentChange change = [&](std::string_view comment) {
    return WithParkedTable(comment, slot, table).value_or(std::string(comment));
  };
  co_return co_await ChangePublicationComment(connection,
                                              std::move(publication), change);
}

}  // namespace walpost
