#include "cli/init_sql.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/checkpoint_sql.h"
#include "postgres/parking_sql.h"
#include "postgres/publication.h"
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

}  // namespace

absl::StatusOr<std::string> OutboxTableSql(const Config& config,
                                           const std::string& table) {
  if (config.source == Source::kPolling) {
    return ForTable(kSql_outbox_polling, table);
  }
  if (!config.retention.enabled()) return ForTable(kSql_outbox, table);
  return ForTable(fmt::format("{}\n{}", kSql_outbox, kSql_outbox_retention),
                  table);
}

bool WantsNotifyTrigger(const Config& config) {
  return config.source == Source::kPolling && !config.polling.notify.empty();
}

absl::StatusOr<std::string> NotifyTriggerSql(const Config& config,
                                             const std::string& table) {
  WALPOST_ASSIGN_OR_RETURN(std::string sql,
                           ForTable(kSql_outbox_notify, table));
  std::string channel = config.polling.notify;
  ReplaceAll(channel, "'", "''");
  ReplaceAll(sql, kChannel, fmt::format("'{}'", channel));
  return sql;
}

bool WantsEmitFunction(const Config& config) {
  return config.outbox.messages.prefix == kPrefix;
}

std::string EmitFunctionSql() { return std::string(kSql_outbox_emit); }

absl::StatusOr<std::string> InitSql(const Config& config,
                                    SlotFailover failover) {
  std::string script;
  for (const TableOptions& table : config.outbox.tables) {
    WALPOST_ASSIGN_OR_RETURN(const std::string sql,
                             OutboxTableSql(config, table.name));
    absl::StrAppend(&script, sql, "\n");
    if (!WantsNotifyTrigger(config)) continue;
    WALPOST_ASSIGN_OR_RETURN(const std::string trigger,
                             NotifyTriggerSql(config, table.name));
    absl::StrAppend(&script, trigger, "\n");
  }
  if (config.source == Source::kPolling) return script;
  if (WantsEmitFunction(config)) {
    absl::StrAppend(&script, EmitFunctionSql(), "\n");
  }
  if (config.checkpoint.store == CheckpointOptions::Store::kPostgres) {
    absl::StrAppend(&script, CheckpointTableScript(config.checkpoint.table),
                    "\n");
  }
  if (config.parks()) {
    absl::StrAppend(&script, ParkingSql::Script(config.parking.table), "\n");
  }
  script += fmt::format(
      "-- Which rows are sent: inserts only, partitions under the name of "
      "their root.\n{}\n\n-- What the server keeps for walpost. After the "
      "publication.\n{}\n\n-- Then put the birth of the slot on record, so "
      "that one that is dropped is\n-- noticed: walpost check -c FILE prints "
      "the SQL.\n",
      CreatePublicationSql(config.postgres.publication, config.outbox.tables),
      CreateSlotSql(config.postgres.slot, failover));
  return script;
}

}  // namespace walpost
