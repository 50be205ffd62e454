#include "checkpoint/coverage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/join_named.h"
#include "checkpoint/escaped_name.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// Older releases wrote the mark alone.
constexpr std::string_view kLeftOut = "left";
// In the place of tables, which have a schema.
constexpr char kAnyRelation[] = "*";
constexpr char kOwner[] = "!";
// Stand before the owner of a publication.
constexpr std::string_view kOwnerMarks = "owp";
constexpr char kOwnerWasSet = 'o';
constexpr char kPinnedOwner = 'p';

// "16390:742" of "16390:742o16385".
std::string_view RowOf(std::string_view publication) {
  return publication.substr(0, publication.find_first_of(kOwnerMarks));
}

// "o16385"; empty: of an older release.
std::string_view OwnerOf(std::string_view publication) {
  return publication.substr(RowOf(publication).size());
}

bool IsOwner(std::string_view text) {
  return text.find_first_of(kOwnerMarks) == 0;
}

std::string OidOf(std::string_view definition) {
  return std::string(definition.substr(0, definition.find_first_of(":.")));
}

bool IsLeftOut(std::string_view definition) {
  return definition.substr(0, definition.find('.')) == kLeftOut;
}

std::string LeftOut(std::string_view definition) {
  return IsLeftOut(definition) ? std::string(definition)
                               : fmt::format("{}.{}", kLeftOut, definition);
}

// Empty: it is not known.
std::string_view DefinitionOf(std::string_view definition) {
  if (!IsLeftOut(definition)) return definition;
  const size_t dot = definition.find('.');
  return dot == std::string_view::npos ? "" : definition.substr(dot + 1);
}

uint32_t NumberOf(std::string_view definition) {
  uint32_t oid = 0;
  return absl::SimpleAtoi(OidOf(DefinitionOf(definition)), &oid) ? oid : 0;
}

using Tables = std::vector<Coverage::Table>;

// The same table, maybe under another name; a name that another table has taken
// over comes first.
Tables::const_iterator FindTable(const Tables& tables,
                                 const Coverage::Table& table) {
  const auto named =
      std::ranges::find(tables, table.name, &Coverage::Table::name);
  const uint32_t oid = NumberOf(table.definition);
  if (named != tables.end() || oid == 0) return named;
  return std::ranges::find(tables, oid, [](const Coverage::Table& other) {
    return NumberOf(other.definition);
  });
}

// A row type changes with the name of its table. With another name in the
// configuration, too, that has kept no row from being sent.
std::string WithoutRowType(std::string_view definition) {
  std::string rest;
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(definition), '.');
  for (const std::string& part : parts) {
    if (!part.starts_with('t')) rest += part + '.';
  }
  return rest;
}

bool IsSame(const Coverage::Table& before, const Coverage::Table& now) {
  const std::string_view known = DefinitionOf(before.definition);
  if (known == now.definition) return true;
  return before.name != now.name &&
         WithoutRowType(known) == WithoutRowType(now.definition);
}

std::string DescribeTable(const Coverage::Table& before,
                          const Coverage::Table& now) {
  if (now.definition.empty()) {
    return fmt::format("table {} does not exist", now.name);
  }
  if (IsLeftOut(before.definition)) {
    return fmt::format("table {} was left out of outbox.tables{}", now.name,
                       DefinitionOf(before.definition).empty()
                           ? ""
                           : ", and of the publication");
  }
  if (OidOf(before.definition) != OidOf(now.definition)) {
    return fmt::format(
        "table {} was created again, or another table took its "
        "name",
        now.name);
  }
  return fmt::format(
      "table {} was taken out of the publication and put back, renamed, or got "
      "another row filter, column list or child table",
      now.name);
}

}  // namespace

std::string Coverage::ToString() const {
  std::string text(RowOf(publication));
  const std::string_view owner = OwnerOf(publication);
  if (!owner.empty()) text += fmt::format(",{}={}", kOwner, owner);
  for (const Table& table : tables) {
    text += fmt::format(",{}={}", EscapeName(table.name), table.definition);
  }
  const std::string passed = passed_over.ToString();
  if (!passed.empty()) text += fmt::format(",{}={}", kAnyRelation, passed);
  return text;
}

Coverage Coverage::Parse(std::string_view text) {
  Coverage coverage;
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  coverage.publication = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos) continue;
    std::string name =
        UnescapeName(std::string_view(parts[i]).substr(0, equals));
    std::string definition = parts[i].substr(equals + 1);
    if (name == kAnyRelation) {
      coverage.passed_over = PassedOver::Parse(definition);
    } else if (name == kOwner) {
      const bool has_owner = !OwnerOf(coverage.publication).empty();
      if (!has_owner && IsOwner(definition)) coverage.publication += definition;
    } else {
      coverage.tables.push_back({std::move(name), std::move(definition)});
    }
  }
  return coverage;
}

std::vector<uint32_t> TableOids(const Coverage& coverage) {
  std::vector<uint32_t> oids;
  for (const Coverage::Table& table : coverage.tables) {
    oids.push_back(IsLeftOut(table.definition) ? 0
                                               : NumberOf(table.definition));
  }
  return oids;
}

uint32_t TableOid(const Coverage& coverage, std::string_view name) {
  const std::vector<uint32_t> oids = TableOids(coverage);
  for (size_t i = 0; i < oids.size(); ++i) {
    if (coverage.tables[i].name == name) return oids[i];
  }
  return 0;
}

Coverage TakeUp(Coverage now, const Coverage& before) {
  now.passed_over = before.passed_over;
  now.passed_over.SetComplete(true);
  for (const Coverage::Table& table : now.tables) {
    now.passed_over.Remove(NumberOf(table.definition));
  }
  for (const Coverage::Table& table : before.tables) {
    if (FindTable(now.tables, table) != now.tables.end()) continue;
    now.tables.push_back({table.name, LeftOut(table.definition)});
  }
  return now;
}

std::string MergeCoverage(const std::string& newer, const std::string& older) {
  if (newer.empty() || older.empty()) return newer.empty() ? older : newer;
  Coverage merged = Coverage::Parse(newer);
  const Coverage before = Coverage::Parse(older);
  merged.passed_over.Add(before.passed_over);
  for (const Coverage::Table& table : before.tables) {
    const auto found = FindTable(merged.tables, table);
    if (found == merged.tables.end()) {
      merged.tables.push_back({table.name, LeftOut(table.definition)});
    } else if (IsLeftOut(table.definition) && !IsSame(table, *found)) {
      merged.tables[static_cast<size_t>(found - merged.tables.begin())]
          .definition = table.definition;
    }
  }
  return merged.ToString();
}

std::string WithStateOf(const std::string& text, const std::string& state) {
  const Coverage now = Coverage::Parse(state);
  Coverage coverage = Coverage::Parse(text);
  for (Coverage::Table& table : coverage.tables) {
    const auto found = FindTable(now.tables, table);
    if (found == now.tables.end()) continue;
    const bool is_known_otherwise = IsLeftOut(found->definition) ||
                                    IsLeftOut(table.definition) ||
                                    found->name != table.name;
    if (is_known_otherwise) table = *found;
  }
  return coverage.ToString();
}

std::string WithPassedOver(const std::string& text, const PassedOver& passed) {
  Coverage coverage = Coverage::Parse(text);
  coverage.passed_over.Add(passed);
  return coverage.ToString();
}

std::string CarryPassedOver(const std::string& fresh,
                            const std::string& before) {
  if (fresh.empty()) return fresh;
  Coverage coverage = Coverage::Parse(fresh);
  coverage.passed_over = Coverage::Parse(before).passed_over;
  for (const uint32_t oid : TableOids(coverage)) {
    coverage.passed_over.Remove(oid);
  }
  return coverage.ToString();
}

std::string WithoutMissingTables(const std::string& text) {
  Coverage coverage = Coverage::Parse(text);
  std::erase_if(coverage.tables, [](const Coverage::Table& table) {
    return table.definition.empty();
  });
  return coverage.ToString();
}

bool LeavesOutMore(const std::string& before, const std::string& after) {
  const Coverage earlier = Coverage::Parse(before);
  const Coverage later = Coverage::Parse(after);
  return std::ranges::any_of(later.tables, [&](const Coverage::Table& table) {
    const auto known = FindTable(earlier.tables, table);
    return IsLeftOut(table.definition) && known != earlier.tables.end() &&
           !IsLeftOut(known->definition);
  });
}

std::vector<Coverage::Table> AddedTables(const Coverage& before,
                                         const Coverage& now) {
  std::vector<Coverage::Table> added;
  for (const Coverage::Table& table : now.tables) {
    if (FindTable(before.tables, table) == before.tables.end()) {
      added.push_back(table);
    }
  }
  return added;
}

std::vector<std::string> FormerNames(const Coverage& before,
                                     const Coverage& now) {
  std::vector<std::string> names;
  for (const Coverage::Table& table : now.tables) {
    const auto known = FindTable(before.tables, table);
    const bool is_renamed =
        known != before.tables.end() && known->name != table.name;
    names.push_back(is_renamed ? known->name : "");
  }
  return names;
}

std::vector<PassedTable> PassedTables(const Coverage& before,
                                      const Coverage& now, Lsn resumes_at) {
  std::vector<PassedTable> passed;
  for (const Coverage::Table& table : now.tables) {
    const uint32_t oid = NumberOf(table.definition);
    if (oid == 0) continue;
    const auto known = FindTable(before.tables, table);
    const bool is_known = known != before.tables.end();
    const bool was_left_out = is_known && IsLeftOut(known->definition);
    std::optional<Lsn> since = is_known && !was_left_out
                                   ? before.passed_over.Since(oid)
                                   : before.passed_over.SinceIfUnknown(oid);
    if (was_left_out && !before.passed_over.is_complete()) since = Lsn();
    if (since && *since < resumes_at) passed.push_back({table.name, *since});
  }
  return passed;
}

std::string WithPublicationOf(const std::string& text,
                              const std::string& state) {
  Coverage coverage = Coverage::Parse(text);
  coverage.publication = Coverage::Parse(state).publication;
  return coverage.ToString();
}

bool OwnerHasChanged(const Coverage& before, const Coverage& now) {
  const std::string_view owner = OwnerOf(now.publication);
  const std::string_view known = OwnerOf(before.publication);
  if (RowOf(before.publication) == RowOf(now.publication) || owner.empty() ||
      OidOf(before.publication) != OidOf(now.publication)) {
    return false;
  }
  if (owner.front() == kOwnerWasSet) return true;
  return owner.front() == kPinnedOwner && !known.empty() &&
         known.substr(1) != owner.substr(1);
}

namespace {

// Empty: the change has kept no row from being sent.
std::string DescribePublication(const Coverage& before, const Coverage& now) {
  if (now.publication.empty()) return "the publication does not exist";
  if (OidOf(before.publication) != OidOf(now.publication)) {
    return "the publication was dropped and created again, or is another one";
  }
  const bool is_same_row = RowOf(before.publication) == RowOf(now.publication);
  if (is_same_row || OwnerHasChanged(before, now)) return "";
  return "the publication was altered";
}

}  // namespace

std::string DescribeChange(const Coverage& before, const Coverage& now) {
  if (before.publication != now.publication) {
    const std::string change = DescribePublication(before, now);
    if (!change.empty()) return change;
  }
  std::vector<std::string> changes;
  for (const Coverage::Table& table : now.tables) {
    const auto known = FindTable(before.tables, table);
    if (known == before.tables.end() || IsSame(*known, table)) continue;
    changes.push_back(DescribeTable(*known, table));
  }
  return JoinNamed(changes, "changed tables");
}

}  // namespace walpost
