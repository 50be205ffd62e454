#include "base/session_settings.h"

#include <algorithm>
#include <vector>

#include "base/server_version.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace walpost {
namespace {

struct Setting {
  std::string name;
  std::string value;
};

// Splits "name=value", where a backslash stands before a blank.
Setting Parse(std::string_view text) {
  const size_t equals = text.find('=');
  Setting setting{std::string(text.substr(0, equals)),
                  std::string(text.substr(equals + 1))};
  std::erase(setting.value, '\\');
  return setting;
}

// Without those that `own` has, too.
std::vector<Setting> Pinned(std::span<const std::string> own) {
  std::vector<Setting> pinned;
  for (const std::string_view text : kPinnedSettings) {
    Setting setting = Parse(text);
    const std::string beginning = setting.name + "=";
    const bool is_replaced = std::ranges::any_of(
        own, [&](const auto& other) { return other.starts_with(beginning); });
    if (!is_replaced) pinned.push_back(std::move(setting));
  }
  return pinned;
}

}  // namespace

// Uses functions, not operators: until it has run, the path is the role's.
std::string PinSettingsSql(int server_version, std::string_view server_encoding,
                           std::span<const std::string> own) {
  std::string sql =
      "SELECT pg_catalog.set_config('search_path', pg_catalog.rtrim("
      "pg_catalog.concat('pg_catalog, ', "
      "pg_catalog.current_setting('search_path')), ', '), false)";
  const auto add = [&sql](const Setting& setting) {
    sql += fmt::format(", pg_catalog.set_config('{}', '{}', false)",
                       setting.name, setting.value);
  };
  for (const Setting& setting : Pinned(own)) add(setting);
  for (const std::string& text : own) add(Parse(text));
  if (server_version >= kFirstWithTransactionTimeout) {
    add({"transaction_timeout", "0"});
  }
  if (MayHoldAnyBytes(server_encoding)) add({"client_encoding", "SQL_ASCII"});
  return sql;
}

// The first word is what counts of DateStyle (ISO, MDY) and of the path.
std::string ReadSettingsSql(std::span<const std::string> own) {
  std::vector<Setting> settings = Pinned(own);
  settings.push_back({"search_path", "pg_catalog"});
  std::vector<std::string> rows;
  for (const Setting& setting : settings) {
    rows.push_back(fmt::format(
        "('{0}', pg_catalog.split_part(pg_catalog.current_setting('{0}'), ',', "
        "1), '{1}')",
        setting.name, setting.value));
  }
  return fmt::format(
      "SELECT name, value FROM (VALUES {}) AS pinned (name, value, wanted) "
      "WHERE value OPERATOR(pg_catalog.<>) wanted",
      fmt::join(rows, ", "));
}

}  // namespace walpost
