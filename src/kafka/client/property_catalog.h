// librdkafka's information about its own properties.
#pragma once

#include <map>
#include <string>

namespace walpost {

// The properties of the linked librdkafka: name -> range, such as "0 .. 900000"
// or "none, gzip, snappy, lz4, zstd"; empty: any text.
std::map<std::string, std::string> KafkaProperties();

}  // namespace walpost
