// Changes keywords of a conninfo.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <utility>
#include <vector>

namespace walpost {

// The keywords of `parsed`, from PQconninfoParse, overridden by `changes`, as a
// conninfo. An empty value removes a keyword.
std::string WithKeywords(
    const PQconninfoOption* parsed,
    const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace walpost
