// The reference of the configuration, in the forms in which people read it.
//
// All are made of DescribeKeys() and KeyTexts(), so that none of them can say
// something else than the loader does.
#pragma once

#include <string>

namespace walpost {

// The keys that every configuration needs.
inline constexpr char kExampleConfig[] = R"(postgres:
  conninfo: host=127.0.0.1 dbname=shop user=walpost password=${file:/etc/walpost/password}
kafka:
  brokers: 127.0.0.1:9092
http:
  listen: 127.0.0.1:9187
)";

// The rows of the table in docs/configuration.md, with its head.
std::string ReferenceTable();

// A YAML file with all keys, their defaults and texts, commented out: a key is
// used once its `#` is removed, and those of the sections around it.
std::string SampleConfig();

// A JSON Schema (2020-12) for editors and checks. It accepts what the loader
// accepts, but for what depends on several keys.
std::string ConfigSchema();

}  // namespace walpost
