#include "checkpoint/coverage.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "checkpoint/escaped_name.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr char kLeftOut[] = "left";
// Stand before the owner of a publication.
constexpr std::string_view kOwnerMarks = "owp";
constexpr char kOwnerWasSet = 'o';
constexpr char kPinnedOwner = 'p';

std::string OidOf(std::string_view definition) {
  return std::string(definition.substr(0, definition.find_first_of(":.")));
}

std::string DescribeTable(const Coverage::Table& before,
                          const Coverage::Table& now) {
  if (now.definition.empty()) {
    return fmt::format("table {} does not exist", now.name);
  }
  if (before.definition == kLeftOut) {
    return fmt::format("table {} was left out of outbox.tables", now.name);
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
  std::string text = publication;
  for (const Table& table : tables) {
    text += fmt::format(",{}={}", EscapeName(table.name), table.definition);
  }
  return text;
}

Coverage Coverage::Parse(std::string_view text) {
  Coverage coverage;
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  coverage.publication = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos) continue;
    coverage.tables.push_back(
        {UnescapeName(std::string_view(parts[i]).substr(0, equals)),
         parts[i].substr(equals + 1)});
  }
  return coverage;
}

std::vector<uint32_t> TableOids(const Coverage& coverage) {
  std::vector<uint32_t> oids;
  for (const Coverage::Table& table : coverage.tables) {
    uint32_t oid = 0;
    if (!absl::SimpleAtoi(OidOf(table.definition), &oid)) oid = 0;
    oids.push_back(oid);
  }
  return oids;
}

Coverage WithLeftOut(Coverage now, const Coverage& before) {
  for (const Coverage::Table& table : before.tables) {
    const auto found =
        std::ranges::find(now.tables, table.name, &Coverage::Table::name);
    if (found == now.tables.end()) {
      now.tables.push_back({table.name, kLeftOut});
    } else if (table.definition == kLeftOut) {
      found->definition = kLeftOut;
    }
  }
  return now;
}

std::string MergeCoverage(const std::string& newer, const std::string& older) {
  if (newer.empty() || older.empty()) return newer.empty() ? older : newer;
  return WithLeftOut(Coverage::Parse(newer), Coverage::Parse(older)).ToString();
}

std::string MarkLeftOut(const std::string& text, const std::string& marks) {
  const Coverage marked = Coverage::Parse(marks);
  Coverage coverage = Coverage::Parse(text);
  for (Coverage::Table& table : coverage.tables) {
    const Coverage::Table left{table.name, kLeftOut};
    if (std::ranges::count(marked.tables, left) > 0) table = left;
  }
  return coverage.ToString();
}

std::string WithPublicationOf(const std::string& text,
                              const std::string& state) {
  Coverage coverage = Coverage::Parse(text);
  coverage.publication = Coverage::Parse(state).publication;
  return coverage.ToString();
}

namespace {

// "16390:742" of "16390:742o16385".
std::string_view RowOf(std::string_view publication) {
  return publication.substr(0, publication.find_first_of(kOwnerMarks));
}

// "o16385"; empty: of an older release.
std::string_view OwnerOf(std::string_view publication) {
  return publication.substr(RowOf(publication).size());
}

}  // namespace

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
  for (const Coverage::Table& table : now.tables) {
    const auto known =
        std::ranges::find(before.tables, table.name, &Coverage::Table::name);
    if (known == before.tables.end() || *known == table) continue;
    return DescribeTable(*known, table);
  }
  return "";
}

}  // namespace walpost
