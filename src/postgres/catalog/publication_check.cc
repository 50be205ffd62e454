#include "postgres/catalog/publication_check.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/sql_name.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/similar_table.h"
#include "postgres/catalog/column_order.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/table_check.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

void PublicationCheck::Add(Severity severity, FindingId id, std::string subject,
                           std::string text, std::string remedy) {
  findings_.push_back({severity, std::move(id), std::move(subject),
                       std::move(text), std::move(remedy)});
}

asio::awaitable<absl::StatusOr<Findings>> PublicationCheck::Run() {
  absl::Status status = co_await CheckPublication();
  if (status.ok()) status = co_await CheckTables();
  if (!status.ok()) co_return status;
  co_return findings_;
}

asio::awaitable<absl::StatusOr<Findings>> PublicationCheck::RunOnTables() {
  publication_exists_ = false;
  WALPOST_CO_RETURN_IF_ERROR(co_await CheckTables());
  co_return findings_;
}

asio::awaitable<absl::Status> PublicationCheck::CheckPublication() {
  const std::string subject =
      fmt::format("publication {}", options_.publication);
  const std::string create = CreatePublicationSql(
      options_.publication, outbox_.tables, connection_.server_version());
  const std::string sql = fmt::format(
      "WITH {0} SELECT pubinsert, pubviaroot, concat_ws(', ', 'insert', CASE "
      "WHEN "
      "pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END, "
      "CASE "
      "WHEN pubtruncate THEN 'truncate' END), puballtables OR EXISTS (SELECT "
      "FROM pg_catalog.pg_publication_tables t JOIN pg_catalog.pg_namespace n "
      "ON n.nspname = t.schemaname JOIN pg_catalog.pg_class c ON "
      "c.relnamespace = n.oid AND c.relname = t.tablename WHERE t.pubname = "
      "p.pubname AND NOT (c.oid IN (SELECT relation FROM tables)) IS TRUE AND "
      "NOT EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors(c.oid) WHERE "
      "(relid::oid IN (SELECT relation FROM tables)) IS TRUE)) "
      "FROM pg_catalog.pg_publication p WHERE pubname = {1}",
      TablesSql(connection_, outbox_.tables),
      connection_.Literal(options_.publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  if (rows.size() == 0) {
    if (options_.create) {
      Add(Severity::kNote, FindingId(kReasonPublicationMissing), subject,
          "does not exist; run will create it");
    } else {
      Add(Severity::kError, FindingId(kReasonPublicationMissing), subject,
          kDoesNotExist,
          fmt::format(
              "walpost init -c FILE --admin CONNINFO, or set postgres.create: "
              "true, or {}",
              create));
    }
    co_return absl::OkStatus();
  }
  publication_exists_ = true;
  published_via_root_ = rows.Bool(0, 1);
  const std::string name = QuoteName(options_.publication);
  const std::string with_inserts = rows.Text(0, 2);
  const bool is_shared = rows.Bool(0, 3);
  const std::string needed = PublishedOperations(outbox_.tables);
  const bool lacks_updates = needed.ends_with("update") &&
                             with_inserts.find("update") == std::string::npos;
  if (!rows.Bool(0, 0)) {
    Add(Severity::kError, FindingId("publication_without_inserts"), subject,
        "does not publish inserts",
        fmt::format("ALTER PUBLICATION {} SET (publish = '{}');", name,
                    with_inserts));
  } else if (lacks_updates) {
    Add(Severity::kWarning, FindingId("publication_without_updates"), subject,
        "does not publish updates: the UPDATE of a primary key, which Debezium "
        "sends as an event, is not seen, and records.on_update has no effect",
        fmt::format("ALTER PUBLICATION {} SET (publish = '{}, update');", name,
                    with_inserts));
  } else if (is_shared) {
    Add(Severity::kNote, FindingId("publication_shared"), subject,
        "is not for the outbox alone: another program may read it, as Debezium "
        "does, so do not take anything out of it",
        fmt::format("none is needed. For one of walpost's own make it while "
                    "the other program still streams, and set "
                    "postgres.publication when the slot has passed it "
                    "(confirmed_flush_lsn): {}",
                    CreatePublicationSql(OwnPublication(), outbox_.tables,
                                         connection_.server_version())));
  } else if (with_inserts != needed) {
    Add(Severity::kNote, FindingId("publication_not_inserts_only"), subject,
        "publishes more than inserts, which is expensive for the server and "
        "not needed",
        fmt::format("if no other program reads it: ALTER PUBLICATION {} SET "
                    "(publish = '{}');",
                    name, needed));
  } else {
    Add(Severity::kOk, FindingId("publication_ok"), subject,
        "publishes inserts");
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<Findings>> PublicationCheck::FindOtherTables() {
  const std::string sql = fmt::format(
      "WITH {} SELECT count(*), min(schemaname || '.' || tablename) FROM "
      "pg_catalog.pg_publication_tables WHERE pubname = {} AND NOT "
      "(schemaname || '.' || tablename IN (SELECT name FROM tables)) IS TRUE",
      TablesSql(connection_, outbox_.tables),
      connection_.Literal(options_.publication));
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  Findings found;
  if (rows->Get(0, 1)) {
    found.push_back(
        {Severity::kWarning, FindingId("publication_has_other_tables"),
         fmt::format("publication {}", options_.publication),
         fmt::format("has tables that are not in outbox.tables ({}, {} among "
                     "them): their rows are confirmed and not published",
                     rows->Text(0, 0), rows->Text(0, 1)),
         "if it is an outbox, list it in outbox.tables"});
  }
  co_return found;
}

asio::awaitable<absl::Status> PublicationCheck::CheckTables() {
  const std::string publication =
      publication_exists_ ? options_.publication : "";
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<TableFacts> facts,
      co_await ReadTableFacts(connection_, publication, outbox_.tables));
  std::vector<std::string> names;  // of other tables, if one does not exist
  const bool is_one_missing =
      std::ranges::count(facts, "", &TableFacts::kind) > 0;
  if (is_one_missing) {
    WALPOST_CO_ASSIGN_OR_RETURN(names,
                                co_await ReadTableNames(connection_, outbox_));
  }
  for (size_t i = 0; i < facts.size(); ++i) {
    TableQuestion question{.table = outbox_.tables[i],
                           .references = routes_[i].references(),
                           .partition = "",
                           .facts = facts[i],
                           .publication = options_.publication,
                           .publication_exists = publication_exists_,
                           .published_via_root = published_via_root_,
                           .server_version = connection_.server_version(),
                           .similar = "",
                           .is_unsortable = false};
    const std::string& table = question.table.name;
    if (const auto& at = routes_[i].partition()) {
      question.partition = routes_[i].references()[*at];
    }
    if (facts[i].kind.empty()) question.similar = SimilarTable(table, names);
    const TableFacts& table_facts = facts[i];
    WALPOST_CO_ASSIGN_OR_RETURN(question.is_unsortable,
                                co_await IsUnsortable(i, table_facts));
    Findings found = CheckTable(question);
    std::ranges::move(found, std::back_inserter(findings_));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<bool>> PublicationCheck::IsUnsortable(
    size_t index, const TableFacts& facts) {
  const std::string& order_by = outbox_.tables[index].order_by;
  const auto column =
      std::ranges::find(facts.columns, order_by, [](const TableColumn& named) {
        return std::string_view(named.schema.name);
      });
  if (order_by.empty() || column == facts.columns.end()) co_return false;
  const auto known = sortable_.find(column->type);
  if (known != sortable_.end()) co_return !known->second;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const bool can_sort,
      co_await CanCompare(connection_, column->type, Comparison::kOrder));
  sortable_[column->type] = can_sort;
  co_return !can_sort;
}

std::string PublicationCheck::OwnPublication() const {
  return options_.publication == "walpost" ? "walpost_outbox" : "walpost";
}

}  // namespace walpost
