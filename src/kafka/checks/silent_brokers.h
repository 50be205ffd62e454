// Brokers that do not answer at the addresses that they give.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <set>

namespace walpost {

// Asks each of the first `count` brokers itself; returns those without an
// answer. Blocks, for up to `timeout_millis` for all of them.
std::set<int32_t> FindSilentBrokers(rd_kafka_t* client,
                                    const rd_kafka_metadata_broker_t* brokers,
                                    int count, int timeout_millis);

}  // namespace walpost
