// DeadLetterIndex: the dead letters of some topics, and what was decided about
// them.
//
//   records, partition by partition in order ──▶ Add ──▶ entries()
//
// An event whose dead letter was sent again, after a crash, is one entry: the
// copies agree in source, id and transaction, and a decision settles them all,
// whichever partitions they are in. Without an id they agree in content and the
// whole position. With one the ordinal does not matter: it may have been
// counted otherwise (outbox/numbering.h). Events from a polled table have no
// position: there, a decision settles the copies of its partition before it,
// and a dead letter behind it is a new entry.
//
// Keeps no payloads, but some hundred bytes of each letter. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "base/sha256.h"
#include "dead_letters/dead_letter.h"
#include "dead_letters/dead_letter_resolution.h"
#include "outbox/record.h"

namespace walpost {

// The place of a dead letter: `walpost.dead-letter/0/17`.
struct LetterPlace {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;

  friend auto operator<=>(const LetterPlace&, const LetterPlace&) = default;
};
std::string ToString(const LetterPlace& place);

class DeadLetterIndex {
 public:
  struct Entry {
    LetterPlace place;  // of the newest copy
    uint64_t copies = 1;
    size_t payload_size = 0;
    // The payload's digest; nullopt: it is NULL, or the letter has not all of
    // it.
    std::optional<Sha256Digest> payload;
    DeadLetter letter;   // without its payload
    std::string digest;  // outbox/event_digest.h
    std::optional<DeadLetterResolution> decision;

    bool is_open() const { return !decision; }
  };

  // Takes a record of a dead-letter topic; ignores what is neither a dead
  // letter nor a decision. kInvalidArgument: cannot be read; names its place.
  absl::Status Add(const LetterPlace& place, const Record& record);

  // In the order of reading.
  const std::vector<Entry>& entries() const { return entries_; }
  // That of the letter at `place`, or of a copy there; nullptr: none is.
  const Entry* Find(const LetterPlace& place) const {
    const auto at = entry_at_.find(place);
    return at == entry_at_.end() ? nullptr : &entries_[at->second];
  }

 private:
  // Digest, and position or transaction; of an event without a position, digest
  // and partition.
  using Identity = std::tuple<std::string, std::string, std::string, int32_t>;

  void AddLetter(const LetterPlace& place, DeadLetter letter);
  void AddDecision(const LetterPlace& place,
                   const DeadLetterResolution& decision);
  static Identity IdentityOf(const Entry& entry);

  std::vector<Entry> entries_;
  // Indexes into entries_.
  std::map<Identity, size_t> entry_of_;
  std::map<LetterPlace, size_t> entry_at_;  // every copy
};

}  // namespace walpost
