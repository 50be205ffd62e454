// A message of librdkafka as evidence.
#pragma once

#include <librdkafka/rdkafka.h>

#include "verify/audit_database.h"
#include "verify/record_comparison.h"

namespace walpost {

// Its views are valid as long as the message.
FoundRecord ToFoundRecord(const rd_kafka_message_t& message);

// The same as a consumer sees it.
ComparedRecord ToComparedRecord(const rd_kafka_message_t& message);

}  // namespace walpost
