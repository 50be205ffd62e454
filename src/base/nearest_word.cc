#include "base/nearest_word.h"

#include <algorithm>
#include <cstddef>

namespace walpost {
namespace {

// Nearly any word is near a short one, so at most half the letters may differ.
constexpr size_t kMaxEdits = 3;

}  // namespace

// Optimal string alignment.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::vector<size_t> next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({change, row[j] + 1, next[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before.swap(row);
    row.swap(next);
  }
  return row.back();
}

std::string NearestWord(std::string_view word,
                        const std::vector<std::string>& known) {
  const auto nearest = std::ranges::min_element(
      known, {}, [&](const std::string& k) { return EditDistance(word, k); });
  const size_t limit = std::min(kMaxEdits, (word.size() + 1) / 2);
  if (nearest == known.end() || EditDistance(word, *nearest) > limit) return "";
  return *nearest;
}

}  // namespace walpost
