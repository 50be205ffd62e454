// Prints dead letters, for people and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/time.h"
#include "dead_letters/dead_letter_index.h"
#include "postgres/parking/parked_list.h"

namespace walpost {

// A dead letter, of a topic or of parking.table.
struct ShownLetter {
  explicit ShownLetter(const DeadLetterIndex::Entry& entry);
  explicit ShownLetter(const ParkedEntry& entry);

  struct Decision {
    std::string by;
    std::string why;
    WallTime at;
  };

  std::string place;
  std::string position;
  const DeadLetter* letter;  // the entry's
  uint64_t copies = 1;
  uint64_t payload_bytes = 0;  // of the event
  std::string state = "open";  // or retry, retried, discarded
  bool may_be_sent = false;    // ParkedEntry::may_be_sent
  // The decision to send the event again, or to give it up.
  std::optional<Decision> decision;
};

// A few lines for each, and the sums.
std::string LetterListText(std::span<const ShownLetter> letters);
// One object per line.
std::string LetterListJson(std::span<const ShownLetter> letters);

// All of one letter, with its payload.
std::string LetterText(const std::string& place, const DeadLetter& letter);

}  // namespace walpost
