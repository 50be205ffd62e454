// The tables, the columns and the messages that the connector captures.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "import/captured_tables.h"
#include "import/import_context.h"
#include "outbox/table_pattern.h"

namespace walpost {
namespace {

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

void ImportTableList(ImportContext& context) {
  const auto list = context.Plain("table.include.list");
  if (!list) return;
  const std::string& key = context.settings.Find("table.include.list")->key;
  for (const std::string& pattern : SplitPatternList(*list)) {
    const auto names = TablesOfPattern(pattern);
    if (!names.ok()) {
      context.report.Refuse(key, MessageOf(names.status()));
      continue;
    }
    for (const std::string& name : *names) {
      if (std::ranges::find(context.config.tables, name) ==
          context.config.tables.end()) {
        context.config.tables.push_back(name);
      }
      if (name != absl::AsciiStrToLower(name)) {
        context.report.Remark(
            key, fmt::format("Debezium ignores case in '{}', and walpost does "
                             "not: write the table's name as Postgres has it",
                             name));
      }
    }
  }
}

// The rest of the lists: with the names at hand they say nothing new, or they
// exclude one of them.
void CheckOtherLists(ImportContext& context) {
  struct OtherList {
    const char* name;
    bool is_schema;
    bool is_exclude;
  };
  constexpr OtherList kLists[] = {{"schema.include.list", true, false},
                                  {"schema.exclude.list", true, true},
                                  {"table.exclude.list", false, true}};
  for (const auto& [name, is_schema, is_exclude] : kLists) {
    const auto list = context.Plain(name);
    if (!list) continue;
    const std::string& key = context.settings.Find(name)->key;
    bool is_well = true;
    for (const std::string& table : context.config.tables) {
      const std::string subject =
          is_schema ? table.substr(0, table.find('.')) : table;
      const auto matches = AnyMatches(SplitPatternList(*list), subject);
      if (IsPattern(subject) || !matches.ok() || *matches == is_exclude) {
        is_well = false;
        context.report.Refuse(
            key, !matches.ok() ? MessageOf(matches.status())
                               : fmt::format("table {} may be outside of it: "
                                             "name the tables with --table "
                                             "SCHEMA.TABLE",
                                             table));
      }
    }
    if (is_well) context.report.NotNeeded(key, "the tables have their names");
  }
}

// The columns that records are made of.
std::vector<std::string> UsedColumns(const ImportContext& context) {
  std::vector<std::string> used;
  const auto& columns = context.config.columns;
  for (const auto& [field, usual] :
       {std::pair{"id", "id"}, std::pair{"aggregate_type", "aggregatetype"},
        std::pair{"aggregate_id", "aggregateid"},
        std::pair{"payload", "payload"}}) {
    const auto found = std::ranges::find(
        columns, field, &std::pair<std::string, std::string>::first);
    used.push_back(found == columns.end() ? usual : found->second);
  }
  for (const auto& [field, column] : columns) {
    if (field == "timestamp") used.push_back(column);
  }
  for (const std::string& placement : context.config.placements) {
    used.push_back(placement.substr(0, placement.find(':')));
  }
  for (const auto& [key, value] : context.config.records) {
    if (key == "schema_version") used.push_back(value);
  }
  return used;
}

// Filters of columns matter if they are about a column that records have.
void CheckColumnFilters(ImportContext& context) {
  std::vector<std::string> columns;
  bool has_pattern = false;
  for (const std::string& table : context.config.tables) {
    has_pattern |= IsPattern(table);
    for (const std::string& column : UsedColumns(context)) {
      columns.push_back(table + "." + column);
    }
  }
  for (Setting* setting : context.settings.WithPrefix("column.")) {
    const std::string& name = setting->name;
    const bool is_include = name == "column.include.list";
    if (!is_include && name != "column.exclude.list" &&
        !name.starts_with("column.mask.") &&
        !name.starts_with("column.truncate.")) {
      continue;
    }
    const auto list = context.Plain(name);
    if (!list) continue;
    const std::vector<std::string> patterns = SplitPatternList(*list);
    std::string why;
    for (const std::string& column : columns) {
      const auto matches = AnyMatches(patterns, column);
      if (!matches.ok()) {
        why = MessageOf(matches.status());
      } else if (*matches != is_include) {
        why = fmt::format(
            "it changes or leaves out {}, which records have: "
            "walpost sends columns as they are",
            column);
      }
      if (!why.empty()) break;
    }
    if (why.empty() && has_pattern) {
      why =
          "whether it is about a column that records have depends on the "
          "table: name the tables with --table SCHEMA.TABLE";
    }
    if (why.empty()) {
      context.report.NotNeeded(setting->key,
                               "it is not about a column that records have");
    } else {
      context.report.Refuse(setting->key, why);
    }
  }
}

// With field.name.adjustment.mode, names that Avro does not allow are changed.
void CheckColumnNames(ImportContext& context) {
  const bool are_plain =
      std::ranges::all_of(UsedColumns(context), [](const std::string& column) {
        return !column.empty() &&
               !absl::ascii_isdigit(static_cast<unsigned char>(column[0])) &&
               std::ranges::all_of(column, [](unsigned char c) {
                 return absl::ascii_isalnum(c) || c == '_';
               });
      });
  if (!are_plain) return;
  for (const char* name :
       {"field.name.adjustment.mode", "sanitize.field.names"}) {
    if (const Setting* setting = context.settings.Take(name)) {
      context.report.NotNeeded(setting->key,
                               "no column has a name that it would change");
    }
  }
}

}  // namespace

void ImportTables(ImportContext& context,
                  const std::vector<std::string>& named) {
  if (named.empty()) {
    ImportTableList(context);
  } else {
    context.config.tables = named;
    if (const Setting* list = context.settings.Take("table.include.list")) {
      context.report.NotNeeded(list->key, "--table names the tables");
    }
  }
  if (context.config.tables.empty() && context.config.message_prefix.empty() &&
      !context.report.has(ImportNote::Kind::kRefused)) {
    context.report.Refuse(
        "table.include.list",
        "it is missing, and all tables of the publication would be captured: "
        "name those of the outbox with --table SCHEMA.TABLE");
  }
  CheckOtherLists(context);
  CheckColumnFilters(context);
  CheckColumnNames(context);
}

}  // namespace walpost
