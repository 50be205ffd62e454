// ParkedRow: a stored event that may be sent, as the table has it.
#pragma once

#include <cstdint>
#include <string>

#include "dead_letters/dead_letter.h"

namespace walpost {

// The primary key of a row.
using ParkedNumber = uint64_t;

struct ParkedRow {
  ParkedNumber number = 0;
  std::string system_identifier;
  std::string position;  // SortableText
  DeadLetter content;
};

}  // namespace walpost
