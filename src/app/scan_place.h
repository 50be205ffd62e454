// ScanPlace: how far the rows of one table are acknowledged, so that a scan
// that broke off goes on there and not at the first row.
//
//   rows, in the scan's order   1 2 3 4 4 4 5 6
//   acknowledged                x x x x x . . .
//   the next scan begins with           4 4 4 5 6
//   and passes over                     4 4
//
// The order need not be unique: the next scan begins with the first row that
// has the key of the last acknowledged one, and rows of that key that were
// acknowledged are recognised by their content. Only the newest kMaxTies of
// them are remembered; others are sent twice.
//
// Pure. One per table, owned by TablePublisher.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace walpost {

class ScanPlace {
 public:
  static constexpr size_t kMaxTies = 50'000;

  // The values of the order's columns; nullopt is NULL.
  using Key = std::vector<std::optional<std::string>>;

  // A row was read and dealt with: everything up to `ordinal` must be
  // acknowledged before it counts as done. Ordinals do not fall.
  void OnRow(Key key, std::string content, uint64_t ordinal);

  // All records up to `ordinal` are acknowledged.
  void OnAcknowledged(uint64_t ordinal);

  // The scan begins again: rows that were not acknowledged come once more.
  void StartScan();

  // Whether a row of the new scan was acknowledged already. Each one that was
  // is passed over once.
  bool WasAcknowledged(const Key& key, std::string_view content);

  // The key of the newest acknowledged row; nullptr: there is none yet.
  const Key* key() const { return key_ ? &*key_ : nullptr; }
  // Rows acknowledged.
  uint64_t done() const { return done_; }
  // Rows that wait for an acknowledgement.
  size_t pending() const { return pending_.size(); }

 private:
  using Ties = std::unordered_map<std::string, uint32_t>;

  struct Row {
    Key key;
    std::string content;
    uint64_t ordinal;
  };

  std::deque<Row> pending_;
  std::optional<Key> key_;
  Ties ties_;       // content of the rows with key_, and how many of each
  Ties pass_over_;  // what is left of it in this scan
  uint64_t done_ = 0;
};

}  // namespace walpost
