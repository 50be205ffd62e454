// ScanCursor: how far the rows of a table are acknowledged, so that an
// interrupted scan continues there and not at the first row.
//
//   rows, in the scan's order   1 2 3 4 4 4 5 6
//   acknowledged                x x x x x . . .
//   the next scan begins with           4 4 4 5 6
//   and skips                           4 4
//
// The order need not be unique: the next scan begins with the first row that
// has the key of the last acknowledged row. Acknowledged rows of that key are
// recognised by their content. Only the newest kMaxTies of them are remembered;
// others are sent twice.
//
// Pure. One per table; owned by TablePublisher.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace walpost {

class ScanCursor {
 public:
  static constexpr size_t kMaxTies = 50'000;

  // Hash over all columns of a row.
  using Content = uint64_t;
  // Values of the order's columns; nullopt: NULL.
  using Key = std::vector<std::optional<std::string>>;

  // A row was read and handled: it is done once everything up to `ordinal` is
  // acknowledged. Ordinals do not decrease.
  void OnRow(Key key, Content content, uint64_t ordinal);

  // All records up to `ordinal` are acknowledged.
  void OnAcknowledged(uint64_t ordinal);

  // The scan begins again: rows that were not acknowledged are repeated.
  void StartScan();

  // True if a row of the new scan was acknowledged already. Each such row is
  // skipped once.
  bool WasAcknowledged(const Key& key, Content content);

  // The acknowledged rows, for another process.
  struct State {
    std::optional<Key> key;
    // Contents of rows with this key, and how many there are of each.
    std::unordered_map<Content, uint32_t> ties;
    uint64_t done = 0;
  };
  State state() const { return {key_, ties_, done_}; }
  // Forgets the rows that wait; before StartScan.
  void Restore(State state);

  // Key of the newest acknowledged row; nullptr: none yet.
  const Key* key() const { return key_ ? &*key_ : nullptr; }
  // Rows acknowledged.
  uint64_t done() const { return done_; }
  // Rows that wait for an acknowledgement.
  size_t pending() const { return pending_.size(); }

 private:
  using Ties = std::unordered_map<Content, uint32_t>;

  struct Row {
    Key key;
    Content content;
    uint64_t ordinal;
  };

  std::deque<Row> pending_;
  std::optional<Key> key_;
  Ties ties_;       // contents of the rows with key_, with their counts
  Ties pass_over_;  // the rest of ties_ in this scan
  uint64_t done_ = 0;
};

}  // namespace walpost
