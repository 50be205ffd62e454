#include "verify/record_comparison.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "base/utf8.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// Ids that are remembered, to know a record that comes again.
constexpr size_t kMaxMatched = 500'000;
constexpr size_t kMaxShown = 200;

std::string Shown(const std::optional<std::string>& bytes) {
  if (!bytes) return "null";
  std::string text = "'";
  text += ValidUtf8(*bytes, kMaxShown);
  if (bytes->size() > kMaxShown) text += "…";
  return text + fmt::format("' ({} bytes)", bytes->size());
}

std::string Shown(const ComparedRecord& record) {
  std::string text;
  for (const auto& [name, value] : record.headers) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name,
                        value ? "'" + *value + "'" : "null");
  }
  return ValidUtf8(text, 4 * kMaxShown);
}

std::string Shown(const std::optional<int32_t>& number) {
  return number ? std::to_string(*number) : "none";
}

}  // namespace

const std::string* ComparedRecord::id() const {
  for (const auto& [name, text] : headers) {
    if (name == "id") return text ? &*text : nullptr;
  }
  return nullptr;
}

std::string_view NameOf(RecordComparison::Kind kind) {
  using Kind = RecordComparison::Kind;
  switch (kind) {
    case Kind::kTopic:
      return "topic";
    case Kind::kPartition:
      return "partition";
    case Kind::kKey:
      return "key";
    case Kind::kValue:
      return "value";
    case Kind::kHeaders:
      return "headers";
    case Kind::kTimestamp:
      return "timestamp";
    case Kind::kOrder:
      return "order";
    case Kind::kMissing:
      return "missing";
    case Kind::kExtra:
      return "extra";
    case Kind::kCount:
      break;
  }
  return "";
}

void RecordComparison::Add(Kind kind, const std::string& example) {
  Differences& differences = differences_[static_cast<size_t>(kind)];
  ++differences.count;
  if (differences.examples.size() == kMaxExamples) return;
  differences.examples.push_back(example);
}

bool RecordComparison::has_differences() const {
  return std::ranges::any_of(differences_, [](const Differences& of_kind) {
    return of_kind.count > 0;
  });
}

void RecordComparison::Expect(ComparedRecord record) {
  const std::string* id = record.id();
  if (id == nullptr) {
    ++without_id_;
    return;
  }
  const std::string name = *id;
  const Expected expected{std::move(record), ++numbers_};
  const auto found = found_.find(name);
  if (found == found_.end()) {
    expected_[name].push_back(expected);
    ++pending_;
    return;
  }
  Match(expected, found->second.front());
  found->second.pop_front();
  if (found->second.empty()) found_.erase(found);
}

void RecordComparison::Find(ComparedRecord record) {
  const uint64_t number = ++partitions_[PlaceOf(record)].records;
  const std::string* id = record.id();
  if (id == nullptr) return;
  const std::string name = *id;
  const Found found{std::move(record), number, has_extra_};
  const auto expected = expected_.find(name);
  if (expected == expected_.end()) {
    found_[name].push_back(found);  // its event may come yet
    return;
  }
  Match(expected->second.front(), found);
  --pending_;
  expected->second.pop_front();
  if (expected->second.empty()) expected_.erase(expected);
}

void RecordComparison::Match(const Expected& expected, const Found& match) {
  const ComparedRecord& wanted = expected.record;
  const ComparedRecord& found = match.record;
  const std::string& id = *wanted.id();
  ++compared_;
  bool is_equal = true;
  const auto differ = [&](Kind kind, const std::string& ours,
                          const std::string& theirs) {
    is_equal = false;
    Add(kind, fmt::format("id {}: walpost {}, Kafka {}", id, ours, theirs));
  };
  if (wanted.topic != found.topic) {
    differ(Kind::kTopic, wanted.topic, found.topic);
  } else if (wanted.partition && wanted.partition != found.partition) {
    differ(Kind::kPartition, Shown(wanted.partition), Shown(found.partition));
  }
  if (wanted.key != found.key) {
    differ(Kind::kKey, Shown(wanted.key), Shown(found.key));
  }
  if (wanted.value != found.value) {
    differ(Kind::kValue, Shown(wanted.value), Shown(found.value));
  }
  if (HeadersDiffer(wanted, found)) {
    differ(Kind::kHeaders, Shown(wanted), Shown(found));
  }
  if (wanted.timestamp && wanted.timestamp != found.timestamp) {
    differ(Kind::kTimestamp, std::to_string(*wanted.timestamp),
           found.timestamp ? std::to_string(*found.timestamp) : "none");
  }
  if (found.key) {
    uint64_t& last = last_of_key_[found.topic + '\0' + *found.key];
    if (expected.number < last) {
      is_equal = false;
      Add(Kind::kOrder, fmt::format("id {}: behind a later event of its key {}",
                                    id, Shown(found.key)));
    }
    last = std::max(last, expected.number);
  }
  if (is_equal) ++equal_;
  Partition& partition = partitions_[PlaceOf(found)];
  partition.first_matched =
      std::min(partition.first_matched.value_or(match.number), match.number);
  if (matched_.insert_or_assign(id, HashOf(found)).second) {
    matched_order_.push_back(id);
  }
  if (matched_order_.size() > kMaxMatched) {
    matched_.erase(matched_order_.front());
    matched_order_.pop_front();
  }
}

bool RecordComparison::HeadersDiffer(const ComparedRecord& expected,
                                     const ComparedRecord& found) const {
  return !std::ranges::equal(
      expected.headers, found.headers, [this](const auto& a, const auto& b) {
        if (a.first != b.first) return false;
        return a.second == b.second || ignored_values_.contains(a.first);
      });
}

size_t RecordComparison::HashOf(const ComparedRecord& record) const {
  size_t hash = absl::HashOf(record.topic, record.key, record.value);
  for (const auto& [name, value] : record.headers) {
    if (ignored_values_.contains(name)) continue;
    hash = absl::HashOf(hash, name, value);
  }
  return hash;
}

void RecordComparison::Finish() {
  for (const auto& [id, events] : expected_) {
    for (const Expected& expected : events) {
      Add(Kind::kMissing,
          fmt::format("id {}: for topic {}", id, expected.record.topic));
    }
  }
  expected_.clear();
  pending_ = 0;
  for (const auto& [id, records] : found_) {
    for (const Found& found : records) FinishFound(id, found);
  }
  found_.clear();
}

// No event was expected for it.
void RecordComparison::FinishFound(const std::string& id, const Found& found) {
  const auto matched = matched_.find(id);
  if (matched != matched_.end() && matched->second == HashOf(found.record)) {
    ++repeated_;
    return;
  }
  if (!found.may_be_extra) return;
  const Place place = PlaceOf(found.record);
  const std::optional<uint64_t>& begin = partitions_[place].first_matched;
  if (!begin || found.number < *begin) {
    ++earlier_;
    return;
  }
  Add(Kind::kExtra, fmt::format("id {}: in topic {}, partition {}{}", id,
                                place.first, place.second,
                                matched == matched_.end()
                                    ? ""
                                    : ", a second one with other content"));
}

}  // namespace walpost
