#include "outbox/table_pattern.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr std::string_view kEscapedStar = "\\*";

bool StartsWithStar(std::string_view text) {
  return text.starts_with(kEscapedStar);
}

// Matches one identifier. Remembers the last star alone: what an earlier one
// stands for need not grow any more.
bool MatchesPart(std::string_view pattern, std::string_view name) {
  std::optional<std::string_view> behind_star;
  std::string_view from;  // where the star's characters may end
  while (!name.empty()) {
    const bool is_escaped = StartsWithStar(pattern);
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      behind_star = pattern;
      from = name;
    } else if (is_escaped ? name.front() == '*'
                          : pattern.starts_with(name.front())) {
      pattern.remove_prefix(is_escaped ? kEscapedStar.size() : 1);
      name.remove_prefix(1);
    } else if (behind_star) {
      from.remove_prefix(1);
      pattern = *behind_star;
      name = from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

std::pair<std::string_view, std::string_view> Split(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::string PartToLike(std::string_view part) {
  std::string like;
  while (!part.empty()) {
    const size_t taken = StartsWithStar(part) ? kEscapedStar.size() : 1;
    const char c = part.front();
    if (taken > 1) {
      like += '*';
    } else if (c == '*') {
      like += '%';
    } else {
      if (c == '%' || c == '_' || c == '\\') like += '\\';
      like += c;
    }
    part.remove_prefix(taken);
  }
  return like;
}

}  // namespace

bool IsPattern(std::string_view name) {
  for (size_t i = 0; i < name.size(); ++i) {
    if (StartsWithStar(name.substr(i))) {
      ++i;
    } else if (name[i] == '*') {
      return true;
    }
  }
  return false;
}

std::string WithoutEscapes(std::string_view name) {
  std::string plain;
  for (; !name.empty(); name.remove_prefix(1)) {
    if (StartsWithStar(name)) name.remove_prefix(1);
    plain += name.front();
  }
  return plain;
}

std::string NameInConfiguration(const OutboxOptions& outbox,
                                const TableOptions& entry) {
  const bool is_pattern =
      std::ranges::count(outbox.patterns, entry.name, &TableOptions::name) > 0;
  if (is_pattern) return entry.name;
  std::string name;
  for (const char c : entry.name) {
    if (c == '*') name += '\\';
    name += c;
  }
  return name;
}

bool MatchesPattern(std::string_view pattern, std::string_view table) {
  const auto [schema_pattern, table_pattern] = Split(pattern);
  const auto [schema, name] = Split(table);
  return MatchesPart(schema_pattern, schema) &&
         MatchesPart(table_pattern, name);
}

LikeParts ToLike(std::string_view pattern) {
  const auto [schema, table] = Split(pattern);
  return {PartToLike(schema), PartToLike(table)};
}

absl::StatusOr<std::optional<TableOptions>> FindByPattern(
    const OutboxOptions& outbox, std::string_view table) {
  const TableOptions* found = nullptr;
  for (const TableOptions& entry : outbox.patterns) {
    if (!MatchesPattern(entry.name, table)) continue;
    if (found != nullptr) {
      return absl::FailedPreconditionError(fmt::format(
          "table {0} matches {1} and {2} in outbox.tables, and it is not known "
          "whose options it has: also list {0} by its own name, or correct one "
          "of the patterns",
          table, found->name, entry.name));
    }
    found = &entry;
  }
  if (found == nullptr) return std::nullopt;
  TableOptions options = *found;
  options.pattern = std::exchange(options.name, std::string(table));
  return options;
}

absl::Status AddByPattern(OutboxOptions& outbox,
                          std::span<const std::string> names) {
  std::set<std::string, std::less<>> listed;
  for (const TableOptions& table : outbox.tables) listed.insert(table.name);
  for (const std::string& name : names) {
    if (!listed.insert(name).second) continue;
    WALPOST_ASSIGN_OR_RETURN(std::optional<TableOptions> entry,
                             FindByPattern(outbox, name));
    if (entry) outbox.tables.push_back(*std::move(entry));
  }
  PutDroppedLast(outbox);
  return absl::OkStatus();
}

void PutDroppedLast(OutboxOptions& outbox) {
  std::stable_partition(
      outbox.tables.begin(), outbox.tables.end(),
      [](const TableOptions& table) { return !table.is_dropped; });
}

OutboxOptions WithoutExpansion(OutboxOptions outbox) {
  std::erase_if(outbox.tables, [](const TableOptions& table) {
    return !table.pattern.empty();
  });
  return outbox;
}

OutboxOptions WithoutDropped(OutboxOptions outbox) {
  std::erase_if(outbox.tables,
                [](const TableOptions& table) { return table.is_dropped; });
  return outbox;
}

std::set<std::string> UnmatchedPatterns(const OutboxOptions& outbox) {
  std::set<std::string> unmatched;
  for (const TableOptions& entry : outbox.patterns) {
    unmatched.insert(entry.name);
  }
  for (const TableOptions& table : outbox.tables) {
    unmatched.erase(table.pattern);
  }
  return unmatched;
}

}  // namespace walpost
