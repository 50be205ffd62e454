#include "debezium/source_topic.h"

#include <algorithm>
#include <cstdint>

namespace walpost::debezium {
namespace {

constexpr size_t kMaxTopicLength = 249;

bool IsTopicCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string SourceTopic(std::string_view logical_name, const Table& table) {
  std::string name(logical_name);
  name += '.';
  name += table.schema;
  name += '.';
  name += table.name;
  std::string topic;
  for (const char c : name) {
    const auto byte = static_cast<uint8_t>(c);
    if (IsTopicCharacter(c)) {
      topic += c;
    } else if ((byte & 0xc0) != 0x80) {
      topic += byte >= 0xf0 ? "__" : "_";  // one per unit of UTF-16
    }
  }
  topic.resize(std::min(topic.size(), kMaxTopicLength));
  return topic;
}

}  // namespace walpost::debezium
