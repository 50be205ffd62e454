// What librdkafka says of its own properties.
#pragma once

#include <map>
#include <string>

namespace walpost {

// The properties that the linked librdkafka knows: name -> range, as in
// "0 .. 900000" or "none, gzip, snappy, lz4, zstd"; empty where any text goes.
std::map<std::string, std::string> KafkaProperties();

}  // namespace walpost
