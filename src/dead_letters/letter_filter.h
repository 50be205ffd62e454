// LetterFilter: which dead letters an operator means.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "dead_letters/dead_letter_index.h"

namespace walpost {

struct LetterFilter {
  // Each that is set must agree.
  std::optional<std::string> place = {};  // PARTITION/OFFSET, or with the topic
  std::optional<std::string> id = {};
  std::optional<std::string> key = {};
  std::optional<std::string> error_class = {};
  std::optional<std::string> topic = {};  // of the event
  // When the event was committed.
  std::optional<WallTime> since = {};
  std::optional<WallTime> before = {};

  bool is_empty() const {
    return !place && !id && !key && !error_class && !topic && !since && !before;
  }
  bool Matches(const DeadLetterIndex::Entry& entry) const;
  // The same, without the place.
  bool MatchesContent(const DeadLetter& letter) const;
};

}  // namespace walpost
