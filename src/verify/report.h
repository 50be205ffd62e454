// Report: findings of the judgement, in numbers and examples.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

// Kinds of findings, in report order.
enum class FindingKind {
  kMissing,      // a committed row without a record
  kUnconfirmed,  // the same, but it was not confirmed yet
  kExpired,      // it was sent, and Kafka has deleted its record since
  kOtherOrigin,  // it was replicated, and is another node's to send
  kParked,       // the same, but it is parked
  kDeadLetter,   // the same, but it has a dead letter
  kDiscarded,    // the same, and somebody has discarded it
  kSkipped,      // the same, and somebody has skipped it
  kNotInTable,   // a record of an event that was never committed, or pruned
  kNewer,        // a record of a row that was committed while we read
  kAltered,      // a different value than the row's
  kWrongTopic,
  kWrongKey,
  kDisorder,   // first occurrences of a key out of order
  kSplitKey,   // one key in several partitions of a topic, to and fro
  kMovedKey,   // one key that left each of its partitions for good
  kDuplicate,  // a record that repeats an earlier one
  kReplayed,   // marked as replayed by walpost
  kWithoutId,  // a record without the header `id`
  kUndecided,  // could not be decided, or was not checked
};
inline constexpr size_t kFindingKinds = 20;

struct KindDescription {
  std::string_view name;  // in JSON and in text
  std::string_view text;  // {} is for the brokers
};
const KindDescription& Describe(FindingKind kind);

struct FoundOfKind {
  uint64_t count = 0;
  std::vector<std::string> examples;  // the first few
  bool is_error = false;
};

inline constexpr char kNotChecked[] = "not checked";

struct Report {
  std::string brokers = "Kafka";  // as people say it
  uint64_t expected = 0;
  uint64_t records = 0;
  // "column X", "header walpost-position", or kNotChecked.
  std::string order_judged_by;
  // The same for records that recover or the snapshot has published; empty:
  // none.
  std::string repairs_judged_by;
  // Facts that were not compared, though nothing is wrong with them.
  std::vector<std::string> notes;
  // Whether everything in the table when it was read was confirmed.
  enum class Confirmed {
    kAll,
    kNotAll,     // yet: part of it may be on its way
    kNeverWill,  // no slot: missing records will not come
  };
  Confirmed confirmed = Confirmed::kNotAll;
  std::array<FoundOfKind, kFindingKinds> findings;

  FoundOfKind& operator[](FindingKind kind) {
    return findings[static_cast<size_t>(kind)];
  }
  const FoundOfKind& operator[](FindingKind kind) const {
    return findings[static_cast<size_t>(kind)];
  }
  bool is_clean() const;

  std::string ToText() const;  // several lines, for people
  std::string ToJson() const;
};

}  // namespace walpost
