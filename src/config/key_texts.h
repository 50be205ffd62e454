// KeyText: the text of the reference about a key of the configuration, in
// addition to what loader.h's DescribeKeys() knows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/key_description.h"

namespace walpost {

struct KeyText {
  enum class Reload { kNo, kYes, kCredentials };

  // "outbox.tables[].topic"; FIELD and CLASS stand for several names, and "*."
  // for several places.
  std::string_view path;
  // The default in words, where the value does not say it; else empty.
  std::string_view fallback;
  // Whether `run` takes up a new value at SIGHUP.
  Reload reload;
  // Markdown, with links out of docs/.
  std::string_view text;
};

// In the order of the file.
std::span<const KeyText> KeyTexts();

// The path of a key as KeyTexts() has it.
std::string GeneralPath(const KeyDescription& key);

}  // namespace walpost
