// Names and texts in SQL.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// Puts any name in double quotes.
std::string QuoteName(std::string_view name);

// Puts any text in single quotes, for a statement that is printed or that has
// no connection yet (Connection::Literal): standard_conforming_strings is on.
std::string QuoteText(std::string_view text);

// The schema in a name as SQL has it: "public" of "public"."outbox", with its
// quotes. Empty: the name has none.
std::string_view SchemaInSql(std::string_view table);

}  // namespace walpost
