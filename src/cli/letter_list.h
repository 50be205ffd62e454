// Prints dead letters, for people and as JSON.
#pragma once

#include <span>
#include <string>

#include "dead_letters/letter_book.h"

namespace walpost {

// A few lines for each, and the sums.
std::string LetterListText(std::span<const LetterBook::Entry* const> entries);
// One object per line.
std::string LetterListJson(std::span<const LetterBook::Entry* const> entries);

// All of one letter, with its payload.
std::string LetterText(const LetterPlace& place, const DeadLetter& letter);

}  // namespace walpost
