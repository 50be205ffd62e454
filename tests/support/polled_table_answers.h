// The answers of a server with the empty table app.outbox (id, seq,
// aggregate_type, payload) that can be polled.
#pragma once

#include <optional>

#include "outbox/options.h"
#include "support/fake_postgres.h"

namespace walpost::testing {

// Words of the statements.
namespace polling {
inline constexpr char kColumns[] = "format_type(a.atttypid";
inline constexpr char kPrivilege[] = "SELECT has_table_privilege";
inline constexpr char kType[] = "SELECT pg_catalog.format_type(atttypid";
inline constexpr char kNulls[] = "SELECT c.relkind = 'p', a.attname";
inline constexpr char kIndexes[] = "pg_get_expr(i.indpred";
inline constexpr char kIdentity[] = "p.pubdelete";
inline constexpr char kTake[] = "SKIP LOCKED";
inline constexpr char kDelete[] = "DELETE FROM";
inline constexpr char kComment[] = "obj_description";
inline constexpr char kGauges[] = "count(*)";
}  // namespace polling

inline OutboxOptions PolledOutbox() {
  OutboxOptions outbox;
  outbox.tables.resize(1);
  outbox.tables[0].name = "app.outbox";
  outbox.tables[0].order_by = "seq";
  outbox.route.topic = "{aggregate_type}";
  return outbox;
}

inline void AnswerPolledTable(FakePostgres& server) {
  using namespace polling;
  const std::optional<std::string> null;
  server.Answer(kGauges, {{"5", "0", null, null}});
  server.Answer(kColumns, {{"0", "id", "25", "text", "", null},
                           {"0", "seq", "20", "bigint", "", null},
                           {"0", "aggregate_type", "25", "text", "", null},
                           {"0", "payload", "25", "text", "", null}});
  server.Answer(kPrivilege, {{"t", "relay", "t"}});
  server.Answer(kType, {{"text"}});
  server.Answer("SELECT c FROM", {});
  server.Answer("_pg_char_max_length", {});
  server.Answer(kNulls, {{"f", "id", "t"}, {"f", "seq", "t"}});
  server.Answer(kIndexes, {{"id", null, "t"}, {"seq", null, "t"}});
  server.Answer(kIdentity, {});
  server.Answer(kComment, {{null}});
  server.Answer(kTake, {});
}

}  // namespace walpost::testing
