#include "debezium/array_text.h"

#include "base/status_macros.h"

namespace walpost::debezium {
namespace {

absl::Status NotAnArray() { return absl::InvalidArgumentError("not an array"); }

// Takes the element at the begin of `rest`, without what separates it from the
// next one.
absl::Status TakeQuoted(std::string_view& rest, TextArena& arena,
                        Text& element) {
  rest.remove_prefix(1);
  char* const decoded = arena.Allocate(rest.size());
  size_t length = 0;
  size_t i = 0;
  while (i < rest.size() && rest[i] != '"') {
    if (rest[i] == '\\') ++i;
    if (i == rest.size()) return NotAnArray();
    decoded[length++] = rest[i++];
  }
  if (i == rest.size()) return NotAnArray();
  rest.remove_prefix(i + 1);
  element = std::string_view(decoded, length);
  return absl::OkStatus();
}

void TakeUnquoted(std::string_view& rest, Text& element) {
  const std::string_view text = rest.substr(0, rest.find_first_of(",}"));
  rest.remove_prefix(text.size());
  element = text;
  if (text == "NULL") element = std::nullopt;
}

// Takes an array within an array.
absl::Status SkipNested(std::string_view& rest, TextArena& arena) {
  int depth = 0;
  do {
    if (rest.empty()) return NotAnArray();
    if (rest.starts_with('"')) {
      Text ignored;
      WALPOST_RETURN_IF_ERROR(TakeQuoted(rest, arena, ignored));
      continue;
    }
    if (rest.starts_with('{')) ++depth;
    if (rest.starts_with('}')) --depth;
    rest.remove_prefix(1);
  } while (depth > 0);
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseArray(std::string_view text, TextArena& arena,
                        ArrayText& array) {
  array = {};
  if (text.starts_with('[')) {  // bounds: [0:1]={a,b}
    const size_t equals = text.find('=');
    if (equals == text.npos) return NotAnArray();
    text.remove_prefix(equals + 1);
  }
  if (text == "{}") return absl::OkStatus();
  if (!text.starts_with('{')) return NotAnArray();
  do {
    text.remove_prefix(1);  // the brace, or a comma
    Text element;
    if (text.starts_with('{')) {
      array.is_nested = true;
      WALPOST_RETURN_IF_ERROR(SkipNested(text, arena));
    } else if (text.starts_with('"')) {
      WALPOST_RETURN_IF_ERROR(TakeQuoted(text, arena, element));
    } else {
      TakeUnquoted(text, element);
    }
    array.elements.push_back(element);
  } while (text.starts_with(','));
  return text == "}" ? absl::OkStatus() : NotAnArray();
}

}  // namespace walpost::debezium
