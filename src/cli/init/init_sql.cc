#include "cli/init/init_sql.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/sql_name.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/fields.h"
#include "polling/lease_table.h"
#include "postgres/catalog/publication.h"
#include "postgres/checkpoint/checkpoint_sql.h"
#include "postgres/connect/quote.h"
#include "postgres/parking/parking_sql.h"
#include "walpost_sql.h"

namespace walpost {
namespace {

// The names in the files.
constexpr std::string_view kTable = "public.outbox";
constexpr std::string_view kIndex = "index if not exists outbox_";
constexpr std::string_view kChannel = "'walpost_outbox'";
constexpr std::string_view kPrefix = "outbox";

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

absl::StatusOr<std::string> ForTable(std::string_view sql,
                                     const std::string& table) {
  const bool plain = std::ranges::all_of(table, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
  if (std::ranges::count(table, '.') > 1) {
    return absl::FailedPreconditionError(fmt::format(
        "table {} does not exist: a name in outbox.tables is schema.table, and "
        "the database is that of postgres.conninfo",
        table));
  }
  if (!plain) {
    return absl::FailedPreconditionError(fmt::format(
        "table {} does not exist, and init makes only tables with names of "
        "a-z, 0-9 and _: create it by hand from the files of sql/",
        table));
  }
  std::string text(sql);
  ReplaceAll(text, kTable, table);
  ReplaceAll(text, kIndex,
             fmt::format("index if not exists {}_",
                         table.substr(table.find('.') + 1)));
  return text;
}

std::string ScriptOf(const Config& config) {
  if (config.source == Source::kPolling)
    return std::string(kSql_outbox_polling);
  if (!config.retention.enabled()) return std::string(kSql_outbox);
  return fmt::format("{}\n{}", kSql_outbox, kSql_outbox_retention);
}

bool IsWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Replaces a whole word outside of comments.
void RenameColumn(std::string& sql, std::string_view column,
                  const std::string& name) {
  std::string renamed;
  bool is_comment = false;
  for (size_t i = 0; i < sql.size();) {
    if (sql.compare(i, 2, "--") == 0) is_comment = true;
    if (sql[i] == '\n') is_comment = false;
    const bool begins = i == 0 || !IsWord(sql[i - 1]);
    const size_t end = i + column.size();
    const bool ends = end >= sql.size() || !IsWord(sql[end]);
    if (!is_comment && begins && ends &&
        sql.compare(i, column.size(), column) == 0) {
      renamed += name;
      i = end;
    } else {
      renamed += sql[i++];
    }
  }
  sql = std::move(renamed);
}

// A column in the place of one of the file, as the table maps it. A field that
// comes from elsewhere leaves its column, which may then be NULL.
void MapColumn(std::string& sql, const FieldSource& source,
               const std::string& column) {
  if (source.kind == FieldSource::Kind::kColumn) {
    RenameColumn(sql, column, QuoteName(source.text));
  } else if (source.kind != FieldSource::Kind::kUsual) {
    ReplaceAll(sql, fmt::format("  {} text not null", column),
               fmt::format("  {} text", column));
  }
}

}  // namespace

std::vector<std::string> OutboxTableColumns(const Config& config) {
  std::vector<std::string> columns;
  const std::vector<std::string> lines = absl::StrSplit(ScriptOf(config), '\n');
  bool is_inside = false;
  for (const std::string& line : lines) {
    if (line.starts_with("create table")) is_inside = true;
    if (line.starts_with("  primary key")) break;
    const bool is_column = is_inside && line.starts_with("  ") &&
                           line.size() > 2 && IsWord(line[2]);
    if (!is_column) continue;
    columns.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return columns;
}

absl::StatusOr<std::string> OutboxTableSql(const Config& config,
                                           const TableOptions& table) {
  std::string script = ScriptOf(config);
  // Together, because one column may take the name of another.
  std::vector<std::pair<std::string, const FieldSource*>> fields;
  for (const FieldDescription& field : kFields) {
    fields.emplace_back(field.name, &(table.columns.*field.source));
  }
  fields.emplace_back("created_at", &table.columns.timestamp);
  for (const auto& [column, source] : fields) {
    RenameColumn(script, column, "walpost_" + column);
  }
  for (const auto& [column, source] : fields) {
    MapColumn(script, *source, "walpost_" + column);
    RenameColumn(script, "walpost_" + column, column);
  }
  return ForTable(script, table.name);
}

bool WantsNotifyTrigger(const Config& config) {
  return config.source == Source::kPolling && !config.polling.notify.empty();
}

absl::StatusOr<std::string> NotifyTriggerSql(const Config& config,
                                             const std::string& table) {
  WALPOST_ASSIGN_OR_RETURN(std::string sql,
                           ForTable(kSql_outbox_notify, table));
  ReplaceAll(sql, kChannel, QuoteText(config.polling.notify));
  return sql;
}

bool WantsEmitFunction(const Config& config) {
  return config.outbox.messages.prefix == kPrefix;
}

std::string EmitFunctionSql() { return std::string(kSql_outbox_emit); }

namespace {

std::string PublicationSql(const Config& config,
                           const ExistingObjects& existing) {
  const std::string& name = config.postgres.publication;
  if (!existing.publication) {
    return fmt::format(
        "-- Which rows are sent: inserts only, partitions under the name of "
        "their root.\n{}\n\n",
        CreatePublicationSql(name, config.outbox.tables,
                             existing.server_version));
  }
  std::string sql = fmt::format("-- Publication {} exists.\n", name);
  for (const TableOptions& table : config.outbox.tables) {
    if (existing.published.contains(table.name)) continue;
    sql += fmt::format("ALTER PUBLICATION {} ADD TABLE {};\n", QuoteName(name),
                       QuoteQualifiedName(table.name));
  }
  return sql + "\n";
}

std::string SlotSql(const Config& config, SlotFailover failover,
                    const ExistingObjects& existing) {
  const std::string& name = config.postgres.slot;
  if (existing.slot) {
    return fmt::format(
        "-- Slot {} exists. Restart walpost if a table is new.\n", name);
  }
  return fmt::format(
      "-- What the server keeps for walpost. After the publication.\n{}\n\n"
      "-- Then put the birth of the slot on record, so that one that is "
      "dropped is\n-- noticed: walpost check -c FILE prints the SQL.\n",
      CreateSlotSql(name, failover));
}

}  // namespace

absl::StatusOr<std::string> InitSql(const Config& config, SlotFailover failover,
                                    const ExistingObjects& existing) {
  std::string script;
  if (!existing.unknown.empty()) {
    script = fmt::format("-- The server was not asked what exists: {}\n\n",
                         existing.unknown);
  }
  for (const TableOptions& table : config.outbox.tables) {
    if (existing.tables.contains(table.name)) {
      absl::StrAppend(&script, "-- Table ", table.name,
                      " exists, and stays as it is.\n\n");
    } else {
      WALPOST_ASSIGN_OR_RETURN(const std::string sql,
                               OutboxTableSql(config, table));
      absl::StrAppend(&script, sql, "\n");
    }
    if (!WantsNotifyTrigger(config)) continue;
    WALPOST_ASSIGN_OR_RETURN(const std::string trigger,
                             NotifyTriggerSql(config, table.name));
    absl::StrAppend(&script, trigger, "\n");
  }
  if (config.source == Source::kPolling) {
    if (!config.polling.has_lease_table()) return script;
    return script + LeaseTableScript(config.polling.lease_table);
  }
  if (WantsEmitFunction(config)) {
    absl::StrAppend(&script, EmitFunctionSql(), "\n");
  }
  if (config.checkpoint.is_in_source()) {
    absl::StrAppend(&script, CheckpointTableScript(config.checkpoint.table),
                    "\n");
  }
  if (config.parks()) {
    absl::StrAppend(&script, ParkingSql::Script(config.parking.table), "\n");
  }
  absl::StrAppend(&script, PublicationSql(config, existing),
                  SlotSql(config, failover, existing));
  return script;
}

}  // namespace walpost
