// Translates the configuration of a Debezium connector for Postgres with the
// outbox event router into one of walpost that makes the same records.
//
// No setting is dropped in silence: each one is carried over, noted as not
// needed, or refused by name.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "import/connector_file.h"
#include "import/import_report.h"
#include "import/settings.h"

namespace walpost {

struct ImportOptions {
  std::string file;     // its name, for the first line
  std::string version;  // of Debezium, such as 3.2; empty: the newest
  std::vector<std::string> tables;
  std::string brokers;
  bool has_worker = false;
};

struct ImportResult {
  std::string yaml;
  ImportReport report;
};

// kInvalidArgument: it is not a connector for Postgres with the outbox event
// router; or the version is none.
absl::StatusOr<ImportResult> ImportConnector(ConnectorFile file,
                                             Settings worker,
                                             const ImportOptions& options);

}  // namespace walpost
