#include "base/utf8.h"

#include "rapidjson/encodings.h"
#include "rapidjson/memorystream.h"

namespace walpost {
namespace {

struct NoOutput {
  void Put(char) {}
};

// Length of the first character of a text; 0: the text begins with an invalid
// one, or with NUL.
size_t CharacterLength(std::string_view text) {
  rapidjson::MemoryStream in(text.data(), text.size());
  NoOutput out;
  if (text.front() == '\0' || !rapidjson::UTF8<>::Validate(in, out)) return 0;
  return in.Tell();
}

}  // namespace

bool IsUtf8(std::string_view text) {
  rapidjson::MemoryStream in(text.data(), text.size());
  NoOutput out;
  while (in.Tell() < text.size()) {
    if (!rapidjson::UTF8<>::Validate(in, out)) return false;
  }
  return in.Tell() == text.size();
}

std::string ValidUtf8(std::string_view text, size_t most_bytes) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (valid.size() + (length == 0 ? 1 : length) > most_bytes) break;
    if (length == 0) {
      valid += '?';
      text.remove_prefix(1);
    } else {
      valid += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return valid;
}

}  // namespace walpost
