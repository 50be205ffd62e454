#include "outbox/numbering.h"

#include <set>

namespace walpost {
namespace {

// FNV-1a: short and stable. A zero byte ends each text, so that two texts
// differ from their concatenation.
class Fnv1a {
 public:
  void Add(std::string_view text) {
    for (const char c : text) AddByte(static_cast<uint8_t>(c));
    AddByte(0);
  }

  uint64_t value() const { return value_; }

 private:
  void AddByte(uint8_t byte) {
    value_ ^= byte;
    value_ *= 0x100000001B3;
  }

  uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace

uint64_t NumberingOf(const OutboxOptions& options,
                     std::string_view publication) {
  std::set<std::string_view> tables;
  for (const TableOptions& table : options.tables) {
    // A table that comes later by a pattern changes no ordinal.
    if (table.pattern.empty()) tables.insert(table.recorded_name());
  }
  for (const TableOptions& entry : options.patterns) tables.insert(entry.name);
  Fnv1a fingerprint;
  fingerprint.Add(publication);
  fingerprint.Add(options.messages.prefix);
  for (const std::string_view table : tables) fingerprint.Add(table);
  // Some updates are events, too.
  if (options.debezium) {
    fingerprint.Add("debezium");
    fingerprint.Add(NameIn(debezium::kOnUpdates, options.debezium->on_update));
  }
  const uint64_t value = fingerprint.value() & INT64_MAX;
  return value == 0 ? 1 : value;
}

}  // namespace walpost
