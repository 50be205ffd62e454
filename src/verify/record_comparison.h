// RecordComparison: the records that walpost would send, beside those that are
// in Kafka, event by event.
//
//   Expect ─┐
//           ├─▶ by the header `id` ─▶ equal, or differences by kind
//   Find  ──┘
//
// Either side may come first. What is on one side alone counts when the
// comparison ends, but for two kinds of Kafka's records: those before the first
// event of their partition that is on both sides, which are of events before
// the comparison began, and those after EndExtra, whose events may not be
// expected any more.
//
// Pure: no clock, no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace walpost {

// All that a consumer sees of a record.
struct ComparedRecord {
  std::string topic;
  // nullopt: not known, of an expected record.
  std::optional<int32_t> partition;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  // In milliseconds; nullopt: that of its sending, of an expected record.
  std::optional<int64_t> timestamp;

  // The first header `id`; nullptr: none.
  const std::string* id() const;
};

class RecordComparison {
 public:
  enum class Kind {
    kTopic,
    kPartition,
    kKey,
    kValue,
    kHeaders,
    kTimestamp,
    kOrder,    // of the records of a key
    kMissing,  // expected, and not in Kafka
    kExtra,    // in Kafka, and not expected
    kCount,
  };
  static constexpr size_t kKinds = static_cast<size_t>(Kind::kCount);
  static constexpr size_t kMaxExamples = 3;

  // Headers whose values are another's by their nature: of the run.
  explicit RecordComparison(std::set<std::string> ignored_values)
      : ignored_values_(std::move(ignored_values)) {}

  void Expect(ComparedRecord record);
  void Find(ComparedRecord record);
  // What is found from now on is compared, and is no difference alone. Call it
  // before the last event is known: the events of all records until now must
  // be expected before Finish.
  void EndExtra() { has_extra_ = false; }
  // Nothing more comes: what is on one side alone is a difference.
  void Finish();

  // Expected records that Kafka does not have yet.
  size_t pending() const { return pending_; }
  uint64_t compared() const { return compared_; }
  uint64_t equal() const { return equal_; }
  // Records that Kafka has more than once, as of Finish. One whose content is
  // another is extra.
  uint64_t repeated() const { return repeated_; }
  // Records of Kafka from before the comparison began.
  uint64_t earlier() const { return earlier_; }
  // Events without the header `id`, which cannot be compared.
  uint64_t without_id() const { return without_id_; }

  struct Differences {
    uint64_t count = 0;
    std::vector<std::string> examples;  // for people
  };
  const Differences& of(Kind kind) const {
    return differences_[static_cast<size_t>(kind)];
  }
  bool has_differences() const;

 private:
  struct Expected {
    ComparedRecord record;
    uint64_t number;
  };
  using Place = std::pair<std::string, int32_t>;
  // A record of Kafka, and how many of its partition came before it.
  struct Found {
    ComparedRecord record;
    uint64_t number;
    bool may_be_extra;
  };
  struct Partition {
    uint64_t records = 0;
    std::optional<uint64_t> first_matched;  // Found::number
  };

  static Place PlaceOf(const ComparedRecord& record) {
    return {record.topic, record.partition.value_or(0)};
  }
  void Match(const Expected& expected, const Found& match);
  void FinishFound(const std::string& id, const Found& found);
  size_t HashOf(const ComparedRecord& record) const;
  bool HeadersDiffer(const ComparedRecord& expected,
                     const ComparedRecord& found) const;
  void Add(Kind kind, const std::string& example);

  std::set<std::string> ignored_values_;
  // By id, of which an application may make several events.
  absl::flat_hash_map<std::string, std::deque<Expected>> expected_;
  absl::flat_hash_map<std::string, std::deque<Found>> found_;
  absl::flat_hash_map<std::string, size_t> matched_;  // hash of the content
  size_t pending_ = 0;
  std::deque<std::string> matched_order_;
  std::map<Place, Partition> partitions_;
  absl::flat_hash_map<std::string, uint64_t> last_of_key_;
  bool has_extra_ = true;
  uint64_t numbers_ = 0;
  uint64_t compared_ = 0;
  uint64_t equal_ = 0;
  uint64_t repeated_ = 0;
  uint64_t earlier_ = 0;
  uint64_t without_id_ = 0;
  std::array<Differences, kKinds> differences_;
};

// "topic", "partition", …, as reports name the kinds.
std::string_view NameOf(RecordComparison::Kind kind);

}  // namespace walpost
