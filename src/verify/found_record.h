// A record of a broker as evidence.
#pragma once

#include <librdkafka/rdkafka.h>

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "verify/audit_database.h"
#include "verify/record_comparison.h"

namespace walpost {

// A record may have several headers of a name: a member of the column `headers`
// may be called `id`, too. Our `id`, like Debezium's, is the first one; headers
// that walpost puts behind those members are the last.
enum class Which { kFirst, kLast };

// The value of a header; nullopt: there is none, or it is null.
using HeaderOf = absl::FunctionRef<std::optional<std::string>(const char* name,
                                                              Which which)>;

// Fills in what the headers say.
void ReadHeaders(HeaderOf header, FoundRecord& record);

// Its views are valid as long as the message.
FoundRecord ToFoundRecord(const rd_kafka_message_t& message);

// The same as a consumer sees it.
ComparedRecord ToComparedRecord(const rd_kafka_message_t& message);

}  // namespace walpost
