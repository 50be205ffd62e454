// Names in SQL.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// Puts any name in double quotes.
std::string QuoteName(std::string_view name);

// The schema in a name as SQL has it: "public" of "public"."outbox", with its
// quotes. Empty: the name has none.
std::string_view SchemaInSql(std::string_view table);

}  // namespace walpost
