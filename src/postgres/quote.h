// Names in SQL.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// Any name, in double quotes.
std::string QuoteName(std::string_view name);

// "public.outbox" as SQL spells it: "public"."outbox".
std::string QuoteQualifiedName(std::string_view name);

}  // namespace walpost
