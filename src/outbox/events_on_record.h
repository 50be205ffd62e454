// EventsOnRecord: events that are not in Kafka because of a decision about
// them. Readers of the WAL or a table leave them out.
//
//   decisions in the publication ┐
//   rows of parking.table        ├─ Add ─▶ Find ◀─ recover, replay, snapshot
//   dead-letter topics           ┘
//
// An event is known by its digest (outbox/event_digest.h), and in the WAL also
// by the commit of its transaction. Released and retried events are not among
// them: they are in Kafka.
//
// Pure. Memory: some hundred bytes for each event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/lsn.h"
#include "base/sha256.h"
#include "outbox/event.h"

namespace walpost {

// Why an event without a record is not in Kafka.
enum class Disposition {
  kSkipped,    // an operator has left it out (walpost skip)
  kDiscarded,  // an operator has discarded it: parked, or a dead letter
  kDeadLetter,
  kParked,  // waits for an operator, or behind such an event
};
inline constexpr size_t kFates = 4;
// "skipped", "discarded", "dead_letter", "parked".
std::string_view ToString(Disposition fate);

class EventsOnRecord {
 public:
  // Content of an event in a topic that other services may also use, with the
  // same ids.
  struct Content {
    std::optional<std::string> aggregate_id;
    uint64_t payload_bytes = 0;
    // nullopt: the payload is NULL, or not known.
    std::optional<Sha256Digest> payload;
  };
  struct Entry {
    Disposition fate = Disposition::kSkipped;
    std::string digest;
    Lsn commit;  // 0/0: of another server, or not known
    std::optional<Content> content = std::nullopt;
  };

  // `sources`: the name of each Event::source (Route::source).
  explicit EventsOnRecord(std::vector<std::string> sources)
      : sources_(std::move(sources)) {}

  // The last entry of an event counts.
  void Add(Entry entry);
  bool empty() const { return entries_.empty(); }

  // The disposition on record for a row of a table; nullopt: none. Equal rows
  // without an id share a digest: each entry is for one of them, so call it
  // once for each row.
  std::optional<Disposition> Find(const Event& row);
  // The same for an event of the WAL, by the commit of its transaction.
  std::optional<Disposition> FindInWal(const Event& event) const;

 private:
  std::vector<std::string> sources_;
  absl::flat_hash_map<std::string, std::vector<Entry>> entries_;
};

// Number of events that were left out, by disposition.
class DispositionCounts {
 public:
  void Add(Disposition fate) { ++counts_[static_cast<size_t>(fate)]; }
  uint64_t of(Disposition fate) const {
    return counts_[static_cast<size_t>(fate)];
  }
  uint64_t sum() const;

  // "3 skipped, 1 dead_letter"; empty: none.
  std::string ToText() const;

 private:
  std::array<uint64_t, kFates> counts_{};
};

}  // namespace walpost
