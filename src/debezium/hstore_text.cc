#include "debezium/hstore_text.h"

#include <algorithm>
#include <cstdint>

namespace walpost::debezium {
namespace {

// String.hashCode of valid UTF-8.
uint32_t JavaHash(std::string_view text) {
  uint32_t hash = 0;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const size_t length = first < 0x80   ? 1
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                                         : 4;
    uint32_t point = length == 1 ? first : first & (0xffu >> (length + 1));
    for (size_t k = 1; k < length && i + k < text.size(); ++k) {
      point = point << 6 | (static_cast<uint8_t>(text[i + k]) & 0x3fu);
    }
    if (point >= 0x10000) {
      hash = hash * 31 + (0xd7c0 + (point >> 10));
      point = 0xdc00 + (point & 0x3ff);
    }
    hash = hash * 31 + point;
    i += length;
  }
  return hash;
}

// Entries of one bucket stay in the order in which they were put.
void OrderAsHashMap(HstoreEntries& entries) {
  size_t buckets = 16;
  while (entries.size() > buckets / 4 * 3) buckets *= 2;
  const auto bucket_of = [buckets](std::string_view key) {
    const uint32_t hash = JavaHash(key);
    return (hash ^ hash >> 16) & (buckets - 1);
  };
  std::ranges::stable_sort(
      entries, {}, [&](const auto& entry) { return bucket_of(entry.first); });
}

bool TakeHstoreString(std::string_view& rest, TextArena& arena,
                      std::string_view& taken) {
  if (!rest.starts_with('"')) return false;
  rest.remove_prefix(1);
  char* const decoded = arena.Allocate(rest.size());
  size_t length = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      taken = {decoded, length};
      return true;
    }
    if (rest[i] == '\\' && ++i == rest.size()) return false;
    decoded[length++] = rest[i];
  }
  return false;
}

bool TakeEntry(std::string_view& rest, TextArena& arena,
               HstoreEntries& entries) {
  std::string_view key;
  if (!TakeHstoreString(rest, arena, key) || !rest.starts_with("=>")) {
    return false;
  }
  rest.remove_prefix(2);
  if (rest.starts_with("NULL")) {
    rest.remove_prefix(4);
    entries.emplace_back(key, std::nullopt);
    return true;
  }
  std::string_view value;
  if (!TakeHstoreString(rest, arena, value)) return false;
  entries.emplace_back(key, value);
  return true;
}

}  // namespace

absl::StatusOr<HstoreEntries> ParseHstore(std::string_view text,
                                          TextArena& arena) {
  HstoreEntries entries;
  while (!text.empty()) {
    if (!TakeEntry(text, arena, entries)) {
      return absl::InvalidArgumentError("not an hstore");
    }
    if (text.starts_with(", ")) text.remove_prefix(2);
  }
  OrderAsHashMap(entries);
  return entries;
}

}  // namespace walpost::debezium
