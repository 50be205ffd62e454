#include "kafka/client/property_catalog.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace walpost {

// librdkafka only prints them as the table of its CONFIGURATION.md:
//
//   Property  | C/P | Range           | Default | Importance | Description
//   linger.ms |  P  | 0 .. 900000     |       5 | high       | ...
std::map<std::string, std::string> KafkaProperties() {
  char* text = nullptr;
  size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) return {};
  rd_kafka_conf_properties_show(stream);
  fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
  std::map<std::string, std::string> properties;
  std::istringstream lines(std::string(text, size));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 6) continue;
    const std::string name(absl::StripAsciiWhitespace(cells[0]));
    properties[name] = std::string(absl::StripAsciiWhitespace(cells[2]));
  }
  return properties;
}

}  // namespace walpost
