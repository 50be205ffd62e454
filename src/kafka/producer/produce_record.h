// Hands a record over to librdkafka.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>

#include "delivery/acknowledgement_window.h"
#include "outbox/record.h"

namespace walpost {

// Copies the parts of the record. `sequence` comes back with its report. By
// default it is the record's, or the topic's partitioner chooses. nullptr:
// accepted; else the caller destroys the error.
rd_kafka_error_t* ProduceRecord(rd_kafka_t* client, rd_kafka_topic_t* topic,
                                const Record& record, Sequence sequence,
                                int32_t partition = RD_KAFKA_PARTITION_UA);

}  // namespace walpost
