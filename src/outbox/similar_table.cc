#include "outbox/similar_table.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "base/nearest_word.h"

namespace walpost {
namespace {

// Letters that may differ; in a short name one makes another word.
size_t MaxEdits(std::string_view name) { return name.size() < 8 ? 1 : 2; }

constexpr size_t kNotSimilar = std::numeric_limits<size_t>::max();

std::string_view NameOf(std::string_view table) {
  return table.substr(table.find('.') + 1);
}

std::string_view SchemaOf(std::string_view table) {
  return table.substr(0, table.find('.'));
}

bool IsPluralOf(const std::string& many, const std::string& one) {
  return many == one + "s" || many == one + "es" ||
         (one.ends_with('y') && many == one.substr(0, one.size() - 1) + "ies");
}

// Lower is more similar.
size_t DistanceOf(std::string_view wanted, std::string_view existing) {
  const std::string a = absl::AsciiStrToLower(std::string(NameOf(wanted)));
  const std::string b = absl::AsciiStrToLower(std::string(NameOf(existing)));
  const size_t other_schema = SchemaOf(wanted) == SchemaOf(existing) ? 0 : 1;
  if (a == b) return other_schema;
  if (IsPluralOf(a, b) || IsPluralOf(b, a)) return 2 + other_schema;
  const size_t edits = EditDistance(a, b);
  return edits <= MaxEdits(a) ? 2 * edits + other_schema : kNotSimilar;
}

}  // namespace

std::string SimilarTable(std::string_view wanted,
                         const std::vector<std::string>& existing) {
  const auto distance = [wanted](const std::string& table) {
    return DistanceOf(wanted, table);
  };
  const auto nearest = std::ranges::min_element(existing, {}, distance);
  if (nearest == existing.end() || distance(*nearest) == kNotSimilar) return "";
  return *nearest;
}

}  // namespace walpost
