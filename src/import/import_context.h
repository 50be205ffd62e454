// ImportContext: what the parts of an import share: the settings, what becomes
// of them, and the configuration that they make.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/client_properties.h"
#include "import/connector_file.h"
#include "import/import_report.h"
#include "import/secret_references.h"
#include "import/settings.h"

namespace walpost {

// A release of Debezium, as far as records depend on it.
struct DebeziumVersion {
  int major = 3;
  int minor = 7;

  friend auto operator<=>(const DebeziumVersion&,
                          const DebeziumVersion&) = default;
};

// What the configuration file will say. Texts may hold references.
struct ImportedConfig {
  using Columns = std::vector<std::pair<std::string, std::string>>;

  std::string conninfo;
  std::string slot;
  std::string publication;
  bool has_failover = false;
  std::vector<std::string> tables;
  Columns columns;  // field -> column
  std::string message_prefix;
  std::string topic;
  std::map<std::string, std::string> topic_creation;
  // Keys of `records` and their values.
  std::vector<std::pair<std::string, std::string>> records;
  std::vector<std::string> placements;
  ClientProperties kafka;
  bool is_exactly_once = false;
};

class ImportContext {
 public:
  ImportContext(ConnectorFile file, Settings worker_settings,
                bool has_worker_file)
      : is_server(file.is_server),
        settings(std::move(file.settings)),
        sink(std::move(file.sink)),
        worker(std::move(worker_settings)),
        has_worker(has_worker_file),
        references(is_server, worker, report) {}
  // The references refer to the worker and to the report.
  ImportContext(const ImportContext&) = delete;
  ImportContext& operator=(const ImportContext&) = delete;

  // The value of a setting of `from` that is read here, without blanks around
  // it. nullopt: there is none, or it is a reference, which is refused.
  std::optional<std::string> Plain(Settings& from, const std::string& name);
  std::optional<std::string> Plain(const std::string& name) {
    return Plain(settings, name);
  }
  // true or false; others are refused.
  std::optional<bool> Flag(Settings& from, const std::string& name);
  std::optional<bool> Flag(const std::string& name) {
    return Flag(settings, name);
  }
  // The name in walpost of one of the values, in any case; others are refused.
  std::optional<std::string> Choice(
      const std::string& name,
      const std::vector<std::pair<std::string_view, std::string_view>>& names);

  void SetRecords(std::string_view key, std::string_view value);

  const bool is_server;
  Settings settings;
  Settings sink;  // of Debezium Server
  Settings worker;
  const bool has_worker;
  ImportReport report;
  SecretReferences references;
  DebeziumVersion version;
  ImportedConfig config;
};

// The parts of an import; each takes the settings that it is about.
void ImportDatabase(ImportContext& context);  // database_import.cc
void ImportTables(ImportContext& context,     // table_import.cc
                  const std::vector<std::string>& named);
void ImportRouter(ImportContext& context,       // router_import.cc
                  const std::string& prefix);   // such as transforms.outbox.
void ImportConverters(ImportContext& context);  // converter_import.cc

}  // namespace walpost
