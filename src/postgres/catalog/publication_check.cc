#include "postgres/catalog/publication_check.h"

#include "base/server_version.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/table_mapper.h"
#include "pgoutput/type_oid.h"
#include "postgres/catalog/column_order.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/replica_identity.h"
#include "postgres/catalog/table_names.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;

// Foreign partitions of a table that are named.
constexpr int kMaxForeign = 5;

void PublicationCheck::Add(Severity severity, std::string subject,
                           std::string text, std::string remedy) {
  findings_.push_back(
      {severity, std::move(subject), std::move(text), std::move(remedy)});
}

asio::awaitable<absl::StatusOr<Findings>> PublicationCheck::Run() {
  absl::Status status = co_await CheckPublication();
  if (status.ok()) status = co_await CheckTables();
  if (!status.ok()) co_return status;
  std::string publication = options_.publication;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Findings rejected,
      co_await CheckPublishedChanges(connection_, std::move(publication)));
  findings_.insert(findings_.end(), rejected.begin(), rejected.end());
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
      "SELECT pubinsert, pubviaroot, concat_ws(', ', 'insert', CASE WHEN "
      "pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END, "
      "CASE "
      "WHEN pubtruncate THEN 'truncate' END), puballtables OR EXISTS (SELECT "
      "FROM pg_catalog.pg_publication_tables t JOIN pg_catalog.pg_namespace n "
      "ON n.nspname = t.schemaname JOIN pg_catalog.pg_class c ON "
      "c.relnamespace = n.oid AND c.relname = t.tablename WHERE t.pubname = "
      "p.pubname AND nspname || '.' || relname <> ALL (ARRAY[{0}]::text[]) AND "
      "NOT EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors(c.oid) JOIN "
      "pg_catalog.pg_class a ON a.oid = relid JOIN pg_catalog.pg_namespace an "
      "ON an.oid = a.relnamespace WHERE an.nspname || '.' || a.relname = ANY "
      "(ARRAY[{0}]::text[]))) "
      "FROM pg_catalog.pg_publication p WHERE pubname = {1}",
      OurTables(), connection_.Literal(options_.publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  if (rows.size() == 0) {
    if (options_.create) {
      Add(Severity::kNote, subject, "does not exist; run will create it");
    } else {
      Add(Severity::kError, subject, kDoesNotExist,
          fmt::format(
              "walpost init -c FILE, or set postgres.create: true, or {}",
              create));
    }
    co_return absl::OkStatus();
  }
  publication_exists_ = true;
  published_via_root_ = rows.Bool(0, 1);
  const std::string name = QuoteName(options_.publication);
  const std::string with_inserts = rows.Text(0, 2);
  const bool is_shared = rows.Bool(0, 3);
  if (!rows.Bool(0, 0)) {
    Add(Severity::kError, subject, "does not publish inserts",
        fmt::format("ALTER PUBLICATION {} SET (publish = '{}');", name,
                    with_inserts));
  } else if (is_shared) {
    Add(Severity::kNote, subject,
        "is not for the outbox alone: another program may read it, as Debezium "
        "does, so do not take anything out of it",
        fmt::format("before the first walpost run, set postgres.publication to "
                    "one of walpost's own: {}",
                    CreatePublicationSql(OwnPublication(), outbox_.tables,
                                         connection_.server_version())));
  } else if (with_inserts != "insert") {
    Add(Severity::kNote, subject,
        "publishes more than inserts, which is expensive for the server and "
        "not needed",
        fmt::format("if no other program reads it: ALTER PUBLICATION {} SET "
                    "(publish = 'insert');",
                    name));
  } else {
    Add(Severity::kOk, subject, "publishes inserts");
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<Findings>> PublicationCheck::FindOtherTables() {
  const std::string sql = fmt::format(
      "SELECT count(*), min(schemaname || '.' || tablename) FROM "
      "pg_catalog.pg_publication_tables WHERE pubname = {} AND schemaname || "
      "'.' || tablename <> ALL (ARRAY[{}]::text[])",
      connection_.Literal(options_.publication), OurTables());
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  Findings found;
  if (rows->Get(0, 1)) {
    found.push_back(
        {Severity::kWarning,
         fmt::format("publication {}", options_.publication),
         fmt::format("has tables that are not in outbox.tables ({}, {} among "
                     "them): their rows are confirmed and not published",
                     rows->Text(0, 0), rows->Text(0, 1)),
         "if it is an outbox, list it in outbox.tables"});
  }
  co_return found;
}

asio::awaitable<absl::Status> PublicationCheck::CheckTables() {
  absl::Status status;
  for (size_t i = 0; i < outbox_.tables.size() && status.ok(); ++i) {
    status = co_await CheckTable(i);
  }
  co_return status;
}

asio::awaitable<absl::Status> PublicationCheck::CheckTable(size_t index) {
  const std::string& table = outbox_.tables[index].name;
  const size_t dot = table.find('.');
  const std::string sql = fmt::format(
      "SELECT c.oid, c.relkind, CASE WHEN c.relkind = 'r' AND "
      "c.relpersistence <> 'p' THEN c.oid::regclass::text ELSE (SELECT "
      "min(leaf.oid::regclass::text) FROM "
      "pg_catalog.pg_partition_tree(c.oid) tree JOIN pg_catalog.pg_class leaf "
      "ON leaf.oid = tree.relid WHERE tree.isleaf AND "
      "leaf.relpersistence <> 'p') END, (SELECT min(s.nspname || '.' || "
      "child.relname) FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class "
      "child ON child.oid = i.inhrelid JOIN pg_catalog.pg_namespace s ON s.oid "
      "= child.relnamespace WHERE i.inhparent = c.oid AND c.relkind = 'r' AND "
      "s.nspname || '.' || child.relname <> ALL (ARRAY[{}]::text[])) "
      "FROM pg_catalog.pg_class c "
      "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "WHERE n.nspname = {} AND c.relname = {}",
      OurTables(), connection_.Literal(table.substr(0, dot)),
      connection_.Literal(table.substr(dot + 1)));
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  if (rows->size() == 0) co_return co_await ReportMissing(table);
  const std::string kind = rows->Text(0, 1);
  if (kind != "r" && kind != "p") {
    Add(Severity::kError, fmt::format("table {}", table),
        "is not a table, and only tables are replicated",
        "name the table itself in outbox.tables");
    co_return absl::OkStatus();
  }
  if (const auto unlogged = rows->Get(0, 2)) {
    Add(Severity::kError, fmt::format("table {}", *unlogged),
        "is unlogged or temporary: its rows are never sent",
        fmt::format("ALTER TABLE {} SET LOGGED;", *unlogged));
    co_return absl::OkStatus();
  }
  if (const auto child = rows->Get(0, 3)) {
    Add(Severity::kError, fmt::format("table {}", table),
        fmt::format("has a child table {} (INHERITS): Postgres sends its rows "
                    "under its own name, so they would not be published",
                    *child),
        fmt::format("ALTER TABLE {} NO INHERIT {}; or list {} in outbox.tables",
                    *child, table, *child));
    co_return absl::OkStatus();
  }
  const std::string relation = rows->Text(0, 0);
  if (kind == "p") {
    WALPOST_CO_RETURN_IF_ERROR(co_await CheckForeign(table, relation));
  }
  co_return co_await CheckPublished(index, kind, relation);
}

// At any depth. Postgres decodes what is in its own WAL.
asio::awaitable<absl::Status> PublicationCheck::CheckForeign(
    std::string table, std::string relation) {
  const std::string sql = fmt::format(
      "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), "
      "pg_catalog.format('%I.%I', pn.nspname, p.relname) "
      "FROM pg_catalog.pg_partition_tree({}) tree "
      "JOIN pg_catalog.pg_class c ON c.oid = tree.relid "
      "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "JOIN pg_catalog.pg_class p ON p.oid = tree.parentrelid "
      "JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace "
      "WHERE c.relkind = 'f' ORDER BY 1 LIMIT {}",
      relation, kMaxForeign);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string leaf = rows.Text(row, 0);
    Add(Severity::kWarning, fmt::format("table {}", leaf),
        fmt::format("is a partition of {} and a foreign table: rows that are "
                    "routed there are in no WAL, and are never sent",
                    table),
        fmt::format("if rows may still come for it: ALTER TABLE {} DETACH "
                    "PARTITION {};",
                    rows.Text(row, 1), leaf));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> PublicationCheck::ReportMissing(
    std::string table) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string similar,
      co_await FindSimilarTable(connection_, outbox_, table));
  std::string remedy =
      "correct outbox.tables (schema.table), or create it with walpost init "
      "-c FILE";
  if (!similar.empty()) {
    remedy = fmt::format("did you mean {}? Correct outbox.tables", similar);
  }
  Add(Severity::kError, fmt::format("table {}", table), "does not exist",
      std::move(remedy));
  co_return absl::OkStatus();
}

std::string PublicationCheck::OurTables() {
  std::string ours;
  for (const TableOptions& table : outbox_.tables) {
    ours += fmt::format("{}{}", ours.empty() ? "" : ", ",
                        connection_.Literal(table.name));
  }
  return ours;
}

std::string PublicationCheck::OwnPublication() const {
  return options_.publication == "walpost" ? "walpost_outbox" : "walpost";
}

asio::awaitable<absl::Status> PublicationCheck::CheckPublished(
    size_t index, std::string kind, std::string relation) {
  const std::string& table = outbox_.tables[index].name;
  const std::string subject = fmt::format("table {}", table);
  const std::string publication = QuoteName(options_.publication);
  PublishedColumns published;
  published.publication = options_.publication;
  if (publication_exists_) {
    if (kind == "p" && !published_via_root_) {
      Add(Severity::kError, subject,
          "is partitioned, and its rows come under the partitions' names",
          fmt::format("ALTER PUBLICATION {} SET (publish_via_partition_root = "
                      "true);",
                      publication));
      co_return absl::OkStatus();
    }
    const bool has_lists =
        connection_.server_version() >= kFirstWithColumnLists;
    const size_t dot = table.find('.');
    const std::string sql = fmt::format(
        "SELECT {} FROM pg_catalog.pg_publication_tables WHERE pubname = {} "
        "AND schemaname = {} AND tablename = {}",
        has_lists
            ? "attnames, rowfilter, EXISTS (SELECT FROM "
              "pg_catalog.pg_publication_rel r JOIN "
              "pg_catalog.pg_publication p ON p.oid = r.prpubid WHERE "
              "p.pubname = pg_publication_tables.pubname AND r.prrelid = " +
                  relation + " AND r.prattrs IS NOT NULL)"
            : std::string("NULL, NULL, false"),
        connection_.Literal(options_.publication),
        connection_.Literal(table.substr(0, dot)),
        connection_.Literal(table.substr(dot + 1)));
    absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
    if (!rows.ok()) co_return rows.status();
    if (rows->size() == 0) {
      Add(Severity::kError, subject,
          fmt::format("is not in publication {}: its rows are not sent",
                      options_.publication),
          fmt::format("ALTER PUBLICATION {} ADD TABLE {};", publication,
                      QuoteQualifiedName(table)));
      co_return absl::OkStatus();
    }
    published.names = rows->Text(0, 0);
    published.has_list = rows->Bool(0, 2);
    published.filter = rows->Text(0, 1);
    if (!published.filter.empty()) {
      Add(Severity::kWarning, subject,
          fmt::format("has a row filter in the publication ({}): rows that do "
                      "not pass it are never sent",
                      published.filter),
          "publish the whole table");
    }
  }
  WALPOST_CO_RETURN_IF_ERROR(
      co_await CheckColumns(index, std::move(published)));
  co_return co_await CheckOrder(index);
}

// The stream needs no order; snapshot, recover and replay do.
asio::awaitable<absl::Status> PublicationCheck::CheckOrder(size_t index) {
  const TableOptions& table = outbox_.tables[index];
  if (table.order_by.empty()) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string type,
      co_await ReadTypeOf(connection_, table.name, table.order_by));
  if (type.empty()) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const bool can_sort,
      co_await CanCompare(connection_, type, Comparison::kOrder));
  if (can_sort) co_return absl::OkStatus();
  Add(Severity::kError, fmt::format("table {}", table.name),
      fmt::format("column {}, which order_by names, has a type that Postgres "
                  "cannot sort by",
                  table.order_by),
      fmt::format("ALTER TABLE {} ADD COLUMN seq bigserial; and set order_by: "
                  "seq",
                  QuoteQualifiedName(table.name)));
  co_return absl::OkStatus();
}

void PublicationCheck::CheckPartition(size_t index,
                                      const pgoutput::RelationSchema& schema) {
  const Route& route = routes_[index];
  if (!route.partition()) return;
  const std::string& name = route.references()[*route.partition()];
  const std::optional<size_t> column = schema.FindColumn(name);
  if (!column) return;  // a field
  if (pgoutput::IsInteger(schema.columns[*column].type_oid)) return;
  const std::string& table = outbox_.tables[index].name;
  const std::string quoted = QuoteName(name);
  Add(Severity::kError, fmt::format("table {}", table),
      fmt::format("column {}, which route.partition names, does not have an "
                  "integer type",
                  name),
      fmt::format("ALTER TABLE {} ALTER COLUMN {} TYPE integer USING "
                  "{}::text::integer;",
                  QuoteQualifiedName(table), quoted, quoted));
}

asio::awaitable<absl::Status> PublicationCheck::CheckColumns(
    size_t index, PublishedColumns published) {
  const TableOptions& table = outbox_.tables[index];
  const std::string subject = fmt::format("table {}", table.name);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const pgoutput::RelationSchema schema,
      co_await ReadPublishedSchema(connection_, table.name,
                                   std::move(published)));
  const auto mapper =
      TableMapper::Create(table, schema, routes_[index].references());
  if (mapper.ok()) CheckPartition(index, schema);
  if (!mapper.ok()) {
    const std::string reason(mapper.status().message());
    if (reason.starts_with(subject + " ")) {
      Add(Severity::kError, subject, reason.substr(subject.size() + 1));
    } else {
      Add(Severity::kError, subject + ":", reason);
    }
  } else if (!(*mapper)->has_key()) {
    Add(Severity::kWarning, subject,
        "has no aggregate_id: records have no key, so order per key is "
        "lost",
        "map outbox.tables.columns.aggregate_id");
  } else {
    Add(Severity::kOk, subject,
        publication_exists_ ? "is published, and its columns fit"
                            : "has columns that fit");
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
