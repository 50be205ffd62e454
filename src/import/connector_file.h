// Reads the configuration of a connector in the forms that it has: Connect's
// JSON (the map alone, or within "config"), Strimzi's KafkaConnector, the
// properties of a standalone worker's connector, and those of Debezium Server.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "import/settings.h"

namespace walpost {

struct ConnectorFile {
  bool is_server = false;  // Debezium Server
  Settings settings;
  // Debezium Server's sink: debezium.sink.*, without that prefix; and its
  // formats.
  Settings sink;
};

// kInvalidArgument: it is none of these; says where and why.
absl::StatusOr<ConnectorFile> ReadConnectorFile(std::string_view text);

// topic.prefix, which names the connector in its offsets; that of releases
// before 2.0, database.server.name; or empty.
std::string TopicPrefixOf(const ConnectorFile& file);

// The properties of a Connect worker (key.converter, producer.*).
absl::StatusOr<Settings> ReadWorkerFile(std::string_view text);

}  // namespace walpost
