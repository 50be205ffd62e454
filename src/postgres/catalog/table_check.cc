#include "postgres/catalog/table_check.h"

#include <utility>

#include "fmt/format.h"
#include "outbox/table_mapper.h"
#include "pgoutput/type_oid.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace {

Finding Missing(const TableQuestion& question) {
  const TableOptions& table = question.table;
  std::string remedy =
      "correct outbox.tables (schema.table), or create it with walpost init "
      "-c FILE --admin CONNINFO";
  if (!question.similar.empty()) {
    remedy =
        fmt::format("did you mean {}? Correct outbox.tables", question.similar);
  }
  // It is on record, or nobody would ask for it.
  if (!table.pattern.empty()) {
    remedy = fmt::format(
        "{}if it was dropped on purpose, run walpost recover -c FILE --accept; "
        "walpost may keep running",
        question.similar.empty()
            ? ""
            : fmt::format("if it is {} now, list that with formerly: [{}]; ",
                          question.similar, table.name));
  }
  return {Severity::kError, FindingId(kFindingTableMissing),
          fmt::format("table {}", table.name), "does not exist",
          std::move(remedy)};
}

Finding ForeignFinding(const std::string& table,
                       const TableFacts::ForeignPartition& leaf) {
  return {Severity::kWarning, FindingId("partition_foreign"),
          fmt::format("table {}", leaf.name),
          fmt::format("is a partition of {} and a foreign table: rows that are "
                      "routed there are in no WAL, and are never sent",
                      table),
          fmt::format("if rows may still come for it: ALTER TABLE {} DETACH "
                      "PARTITION {};",
                      leaf.parent, leaf.name)};
}

pgoutput::RelationSchema SchemaOf(const TableQuestion& question) {
  return PublishedSchema(question.table.name, question.facts.columns,
                         question.facts.published, question.server_version);
}

Finding ColumnsFinding(const TableQuestion& question) {
  const std::string subject = fmt::format("table {}", question.table.name);
  const auto mapper = TableMapper::Create(question.table, SchemaOf(question),
                                          question.references);
  if (!mapper.ok()) {
    const std::string reason(mapper.status().message());
    if (reason.starts_with(subject + " ")) {
      return {Severity::kError, FindingId(kReasonTableUnsuitable), subject,
              reason.substr(subject.size() + 1), ""};
    }
    return {Severity::kError, FindingId(kReasonTableUnsuitable), subject + ":",
            reason, ""};
  }
  if (!(*mapper)->has_key()) {
    return {Severity::kWarning, FindingId("aggregate_id_unmapped"), subject,
            "has no aggregate_id: records have no key, so order per key is "
            "lost",
            "map outbox.tables.columns.aggregate_id"};
  }
  return {Severity::kOk, FindingId("table_ok"), subject,
          question.publication_exists ? "is published, and its columns fit"
                                      : "has columns that fit",
          ""};
}

// nullopt: the column has an integer type, or is not published.
std::optional<Finding> PartitionFinding(const TableQuestion& question) {
  if (question.partition.empty()) return std::nullopt;
  const pgoutput::RelationSchema schema = SchemaOf(question);
  const std::optional<size_t> column = schema.FindColumn(question.partition);
  if (!column || pgoutput::IsInteger(schema.columns[*column].type_oid)) {
    return std::nullopt;
  }
  return Finding{
      Severity::kError, FindingId("partition_column_not_integer"),
      fmt::format("table {}", question.table.name),
      fmt::format("column {}, which route.partition names, does not have an "
                  "integer type",
                  question.partition),
      fmt::format("ALTER TABLE {0} ALTER COLUMN {1} TYPE integer USING "
                  "{1}::text::integer;",
                  QuoteQualifiedName(question.table.name),
                  QuoteName(question.partition))};
}

// The stream needs no order; snapshot, recover and replay do.
Finding OrderFinding(const TableOptions& table) {
  return {Severity::kError, FindingId("order_by_unsortable"),
          fmt::format("table {}", table.name),
          fmt::format("column {}, which order_by names, has a type that "
                      "Postgres cannot sort by",
                      table.order_by),
          fmt::format("ALTER TABLE {} ADD COLUMN seq bigserial; and set "
                      "order_by: seq",
                      QuoteQualifiedName(table.name))};
}

// What makes the table itself unfit; nullopt: nothing.
std::optional<Finding> KindFinding(const TableQuestion& question) {
  const TableFacts& facts = question.facts;
  const std::string& table = question.table.name;
  if (facts.kind.empty()) return Missing(question);
  if (facts.kind != "r" && facts.kind != "p") {
    return Finding{Severity::kError, FindingId("relation_not_a_table"),
                   fmt::format("table {}", table),
                   "is not a table, and only tables are replicated",
                   "name the table itself in outbox.tables"};
  }
  if (facts.unlogged) {
    return Finding{Severity::kError, FindingId("table_unlogged"),
                   fmt::format("table {}", *facts.unlogged),
                   "is unlogged or temporary: its rows are never sent",
                   fmt::format("ALTER TABLE {} SET LOGGED;", *facts.unlogged)};
  }
  if (facts.child) {
    return Finding{
        Severity::kError, FindingId("table_has_child"),
        fmt::format("table {}", table),
        fmt::format("has a child table {} (INHERITS): Postgres sends its rows "
                    "under its own name, so they would not be published",
                    *facts.child),
        fmt::format("ALTER TABLE {} NO INHERIT {}; or list {} in outbox.tables",
                    *facts.child, table, *facts.child)};
  }
  return std::nullopt;
}

// Why the publication sends none of its rows; nullopt: it does.
std::optional<Finding> UnpublishedFinding(const TableQuestion& question) {
  const std::string subject = fmt::format("table {}", question.table.name);
  const std::string publication = QuoteName(question.publication);
  if (question.facts.kind == "p" && !question.published_via_root) {
    return Finding{
        Severity::kError, FindingId("publish_via_partition_root_off"), subject,
        "is partitioned, and its rows come under the partitions' names",
        fmt::format("ALTER PUBLICATION {} SET (publish_via_partition_root = "
                    "true);",
                    publication)};
  }
  if (!question.facts.is_published) {
    return Finding{
        Severity::kError, FindingId("table_not_published"), subject,
        fmt::format("is not in publication {}: its rows are not "
                    "sent",
                    question.publication),
        fmt::format("ALTER PUBLICATION {} ADD TABLE {};", publication,
                    QuoteQualifiedName(question.table.name))};
  }
  return std::nullopt;
}

}  // namespace

Findings CheckTable(const TableQuestion& question) {
  std::optional<Finding> unfit = KindFinding(question);
  if (unfit) return {*std::move(unfit)};
  Findings findings;
  const TableFacts& facts = question.facts;
  for (const TableFacts::ForeignPartition& leaf : facts.foreign) {
    findings.push_back(ForeignFinding(question.table.name, leaf));
  }
  if (question.publication_exists) {
    std::optional<Finding> unpublished = UnpublishedFinding(question);
    if (unpublished) {
      findings.push_back(*std::move(unpublished));
      return findings;
    }
    if (!facts.published.filter.empty()) {
      findings.push_back(
          {Severity::kWarning, FindingId("table_row_filter"),
           fmt::format("table {}", question.table.name),
           fmt::format("has a row filter in the publication ({}): rows that do "
                       "not pass it are never sent",
                       facts.published.filter),
           "publish the whole table"});
    }
  }
  std::optional<Finding> partition = PartitionFinding(question);
  if (partition) findings.push_back(*std::move(partition));
  findings.push_back(ColumnsFinding(question));
  if (question.is_unsortable) findings.push_back(OrderFinding(question.table));
  return findings;
}

}  // namespace walpost
