// Names of outbox.tables that stand for several tables: `tenant_*.outbox`.
//
// `*` stands for any characters of one identifier: it never crosses the dot
// between schema and table. `\*` is a literal `*`. Pure; a stream asks once for
// each relation that the server describes.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/options.h"

namespace walpost {

// True if the name has a `*` that is not escaped.
bool IsPattern(std::string_view name);
// A name that is not a pattern, with `\*` as `*`.
std::string WithoutEscapes(std::string_view name);

// The name of one of EntriesOf(outbox) as it is written in the configuration.
std::string NameInConfiguration(const OutboxOptions& outbox,
                                const TableOptions& entry);

// `pattern` and `table` are schema.table.
bool MatchesPattern(std::string_view pattern, std::string_view table);

// The schema part and the table part of a pattern for SQL's LIKE.
struct LikeParts {
  std::string schema;
  std::string table;
};
LikeParts ToLike(std::string_view pattern);

// The entry of outbox.patterns for a table that outbox.tables does not list;
// nullopt: none.
//
// kFailedPrecondition: two patterns match it; names all three.
absl::StatusOr<std::optional<TableOptions>> FindByPattern(
    const OutboxOptions& outbox, std::string_view table);

// Adds the entries of `names` to outbox.tables, in order; names that are listed
// or that no pattern matches are left out. Errors: see FindByPattern.
absl::Status AddByPattern(OutboxOptions& outbox,
                          std::span<const std::string> names);

// Puts the tables that do not exist any more behind the others.
void PutDroppedLast(OutboxOptions& outbox);

// Without the tables that came by patterns.
OutboxOptions WithoutExpansion(OutboxOptions outbox);

// Without the tables that do not exist any more.
OutboxOptions WithoutDropped(OutboxOptions outbox);

// The patterns that none of outbox.tables came by.
std::set<std::string> UnmatchedPatterns(const OutboxOptions& outbox);

}  // namespace walpost
