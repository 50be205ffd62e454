// Settings of a topic or a broker, as the brokers describe them.
#pragma once

#include <librdkafka/rdkafka.h>

#include <map>
#include <string>

namespace walpost {

// Empty: not known: no answer, or no right DESCRIBE_CONFIGS. Blocks.
std::map<std::string, std::string> DescribeSettings(
    rd_kafka_t* client, rd_kafka_ResourceType_t type, const std::string& name,
    int timeout_millis);

}  // namespace walpost
