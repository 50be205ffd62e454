// walpost dead-letters, if dead letters are rows of parking.table
// (dead_letter.store: postgres).
#pragma once

#include "cli/events/letter_arguments.h"
#include "config/config.h"
#include "dead_letters/letter_filter.h"

namespace walpost {

// Returns the exit code. Blocks.
int RunLetterTable(const LetterArguments& arguments, const LetterFilter& filter,
                   const Config& config);

}  // namespace walpost
