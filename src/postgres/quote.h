// Quoting of names in SQL.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// Puts any name in double quotes.
std::string QuoteName(std::string_view name);

// "public.outbox" in SQL: "public"."outbox".
std::string QuoteQualifiedName(std::string_view name);

}  // namespace walpost
