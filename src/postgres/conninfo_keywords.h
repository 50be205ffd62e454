// A conninfo with some of its keywords changed.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <utility>
#include <vector>

namespace walpost {

// The keywords of `parsed`, from PQconninfoParse, with `changes` laid over
// them, as a conninfo. An empty value takes a keyword out.
std::string WithKeywords(
    const PQconninfoOption* parsed,
    const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace walpost
