// Properties of Kafka's Java producer as properties of librdkafka.
#pragma once

#include <map>
#include <string>

#include "import/import_report.h"
#include "import/secret_references.h"
#include "import/settings.h"

namespace walpost {

struct ClientProperties {
  std::string brokers;  // empty: not given
  std::map<std::string, std::string> properties;
};

// Takes the settings of `settings` that begin with `prefix`. What is in
// `client` already stays: it has the higher priority.
void AddClientProperties(Settings& settings, const std::string& prefix,
                         SecretReferences& references, ImportReport& report,
                         ClientProperties& client);

}  // namespace walpost
