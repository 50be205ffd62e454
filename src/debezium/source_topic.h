// The topic that Debezium's connector would write a table's changes to, which
// is in the names of its schemas: srv.ob.outbox.
#pragma once

#include <string>
#include <string_view>

#include "debezium/row_encoder.h"

namespace walpost::debezium {

// With '_' for each character that no topic may have
// (SchemaTopicNamingStrategy).
std::string SourceTopic(std::string_view logical_name, const Table& table);

}  // namespace walpost::debezium
