// Hands a record over to librdkafka.
#pragma once

#include <librdkafka/rdkafka.h>

#include "delivery/acknowledgement_window.h"
#include "outbox/record.h"

namespace walpost {

// Copies the parts of the record. `sequence` comes back with its report. The
// topic's partitioner chooses, if the record does not say. nullptr: accepted;
// else the caller destroys the error.
rd_kafka_error_t* ProduceRecord(rd_kafka_t* client, rd_kafka_topic_t* topic,
                                const Record& record, Sequence sequence);

}  // namespace walpost
