// Names of tables from Debezium's include lists, which are regular expressions
// of Java's that match schema.table as a whole, in any case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost {

// A list of regular expressions: separated by commas that have no \ before
// them, blanks around each are cut.
std::vector<std::string> SplitPatternList(std::string_view list);

// The names, or patterns of outbox.tables[].name, that match the same tables.
// kInvalidArgument: there are none; says what to write instead.
absl::StatusOr<std::vector<std::string>> TablesOfPattern(
    const std::string& pattern);

// True if one of the patterns matches the whole of `name`. kInvalidArgument: a
// pattern cannot be matched as Java does.
absl::StatusOr<bool> AnyMatches(const std::vector<std::string>& patterns,
                                std::string_view name);

}  // namespace walpost
