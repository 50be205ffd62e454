// Helpers of all forms of the reference (reference.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/key_texts.h"

namespace walpost {

// All keys with their defaults, with one table.
std::vector<KeyDescription> ReferenceKeys();

const KeyText& TextOf(const KeyDescription& key);

// The possible values of the key, in Markdown.
std::string ValuesOf(const KeyDescription& key);

// As the file spells it; empty: none.
std::string DefaultOf(const KeyDescription& key);

// The default as people read it, in Markdown; "–": none.
std::string ShownDefault(const KeyDescription& key);

// `text` between backquotes.
std::string Code(std::string_view text);

// "[text](address)" as "text".
std::string WithoutLinks(std::string_view markdown);

}  // namespace walpost
