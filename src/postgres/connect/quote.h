// Quoting of names in SQL.
#pragma once

#include <string>
#include <string_view>

#include "base/sql_name.h"

namespace walpost {

// "public.outbox" in SQL: "public"."outbox".
std::string QuoteQualifiedName(std::string_view name);

}  // namespace walpost
