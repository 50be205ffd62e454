// The column of a table that the mapping uses for a field (outbox/fields.h, or
// `timestamp`); nullopt: none, or a constant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "outbox/options.h"
#include "pgoutput/relation_schema.h"

namespace walpost {

std::optional<std::string> ColumnOfField(const TableOptions& table,
                                         const pgoutput::RelationSchema& schema,
                                         std::string_view field);

}  // namespace walpost
