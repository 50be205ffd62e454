#include "debezium/json_document.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::debezium {
namespace {

// Objects with more members look them up in a table.
constexpr size_t kMaxSearchedMembers = 16;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Units of UTF-16.
size_t UnitsOf(std::string_view text) {
  size_t units = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte & 0xc0) != 0x80) ++units;
    if (byte >= 0xf0) ++units;
  }
  return units;
}

char* PutUtf8(uint32_t point, char* out) {
  if (point < 0x80) {
    *out++ = static_cast<char>(point);
    return out;
  }
  if (point < 0x800) {
    *out++ = static_cast<char>(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      *out++ = static_cast<char>(0xe0 | point >> 12);
    } else {
      *out++ = static_cast<char>(0xf0 | point >> 18);
      *out++ = static_cast<char>(0x80 | (point >> 12 & 0x3f));
    }
    *out++ = static_cast<char>(0x80 | (point >> 6 & 0x3f));
  }
  *out++ = static_cast<char>(0x80 | (point & 0x3f));
  return out;
}

// The members of an object while it is read.
class MemberTable {
 public:
  explicit MemberTable(std::vector<JsonMember>& members) : members_(members) {}

  void Put(std::string_view name, JsonNode value) {
    const size_t place = Find(name);
    if (place < members_.size()) {
      members_[place].value = std::move(value);
      return;
    }
    if (!places_.empty()) places_.emplace(name, place);
    members_.push_back({name, std::move(value)});
  }

 private:
  size_t Find(std::string_view name) {
    if (members_.size() < kMaxSearchedMembers) {
      size_t place = 0;
      while (place < members_.size() && members_[place].name != name) ++place;
      return place;
    }
    if (places_.empty()) {
      for (size_t i = 0; i < members_.size(); ++i) {
        places_.emplace(members_[i].name, i);
      }
    }
    const auto found = places_.find(name);
    return found == places_.end() ? members_.size() : found->second;
  }

  std::vector<JsonMember>& members_;
  absl::flat_hash_map<std::string_view, size_t> places_;
};

class JsonParser {
 public:
  JsonParser(std::string_view text, TextArena& arena)
      : text_(text), arena_(arena) {}

  absl::Status ParseValue(int depth, JsonNode& node) {
    SkipSpace();
    if (at_ == text_.size()) return Error("the text ends within a value");
    switch (text_[at_]) {
      case '{':
        return ParseObject(depth + 1, node);
      case '[':
        return ParseArray(depth + 1, node);
      case '"':
        node.kind = JsonNode::Kind::kString;
        return ParseString(kMaxJsonStringUnits, node.text);
      case 't':
        node.kind = JsonNode::Kind::kBoolean;
        node.boolean = true;
        return ParseWord("true");
      case 'f':
        node.kind = JsonNode::Kind::kBoolean;
        return ParseWord("false");
      case 'n':
        return ParseWord("null");
      default:
        return ParseNumber(node);
    }
  }

 private:
  absl::Status Error(std::string_view cause) const {
    return absl::InvalidArgumentError(
        fmt::format("not JSON: {} (at byte {})", cause, at_));
  }

  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }

  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool IsDigitAt(size_t at) const {
    return at < text_.size() && text_[at] >= '0' && text_[at] <= '9';
  }

  absl::Status CheckNesting(int depth) const {
    if (depth <= kMaxJsonNesting) return absl::OkStatus();
    return Error(fmt::format("nested deeper than {} levels", kMaxJsonNesting));
  }

  absl::Status ParseObject(int depth, JsonNode& node) {
    WALPOST_RETURN_IF_ERROR(CheckNesting(depth));
    node.kind = JsonNode::Kind::kObject;
    MemberTable members(node.members);
    ++at_;
    SkipSpace();
    if (Take('}')) return absl::OkStatus();
    while (true) {
      SkipSpace();
      if (at_ == text_.size() || text_[at_] != '"') {
        return Error("expected a name in double quotes");
      }
      std::string_view name;
      WALPOST_RETURN_IF_ERROR(ParseString(kMaxJsonNameUnits, name));
      SkipSpace();
      if (!Take(':')) return Error("expected a colon");
      JsonNode value;
      WALPOST_RETURN_IF_ERROR(ParseValue(depth, value));
      members.Put(name, std::move(value));
      SkipSpace();
      if (Take('}')) return absl::OkStatus();
      if (!Take(',')) return Error("expected a comma or a closing brace");
    }
  }

  absl::Status ParseArray(int depth, JsonNode& node) {
    WALPOST_RETURN_IF_ERROR(CheckNesting(depth));
    node.kind = JsonNode::Kind::kArray;
    ++at_;
    SkipSpace();
    if (Take(']')) return absl::OkStatus();
    while (true) {
      JsonNode element;
      WALPOST_RETURN_IF_ERROR(ParseValue(depth, element));
      node.elements.push_back(std::move(element));
      SkipSpace();
      if (Take(']')) return absl::OkStatus();
      if (!Take(',')) return Error("expected a comma or a closing bracket");
    }
  }

  absl::Status ParseWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return Error("unknown word");
    at_ += word.size();
    const bool ends = at_ == text_.size() || IsSpace(text_[at_]) ||
                      text_[at_] == ',' || text_[at_] == '}' ||
                      text_[at_] == ']';
    return ends ? absl::OkStatus() : Error("unknown word");
  }

  absl::Status ParseString(size_t max_units, std::string_view& parsed) {
    const size_t begin = ++at_;
    bool has_escape = false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<uint8_t>(text_[at_]) < 0x20) {
        return Error("a control character in a string");
      }
      has_escape = has_escape || text_[at_] == '\\';
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return Error("the text ends within a string");
    }
    parsed = text_.substr(begin, at_ - begin);
    ++at_;
    if (has_escape) WALPOST_RETURN_IF_ERROR(Unescape(begin, parsed));
    if (parsed.size() > max_units && UnitsOf(parsed) > max_units) {
      return Error("a longer string than Jackson reads");
    }
    return absl::OkStatus();
  }

  // Replaces the raw string, which begins at `begin` of the text.
  absl::Status Unescape(size_t begin, std::string_view& raw) {
    const size_t end = begin + raw.size();
    char* const decoded = arena_.Allocate(raw.size());
    char* out = decoded;
    for (size_t i = begin; i < end;) {
      if (text_[i] != '\\') {
        *out++ = text_[i++];
        continue;
      }
      if (text_[i + 1] == 'u') {
        uint32_t point = 0;
        if (!ReadUnit(i, end, point)) return Error("a wrong \\u escape");
        i += 6;
        uint32_t low = 0;
        if (point >= 0xd800 && point < 0xdc00 && ReadUnit(i, end, low) &&
            low >= 0xdc00 && low < 0xe000) {
          point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
          i += 6;
        }
        out = PutUtf8(point, out);
        continue;
      }
      const char c = Unescaped(text_[i + 1]);
      if (c == '\0') return Error("an unknown escape");
      *out++ = c;
      i += 2;
    }
    raw = {decoded, static_cast<size_t>(out - decoded)};
    return absl::OkStatus();
  }

  // Whether an escape \uXXXX is at `at`.
  bool ReadUnit(size_t at, size_t end, uint32_t& unit) const {
    if (at + 6 > end || text_[at] != '\\' || text_[at + 1] != 'u') return false;
    const char* const digits = text_.data() + at + 2;
    return std::from_chars(digits, digits + 4, unit, 16).ptr == digits + 4;
  }

  static char Unescaped(char c) {
    switch (c) {
      case '"':
      case '\\':
      case '/':
        return c;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      default:
        return '\0';
    }
  }

  // Moves over digits; returns how many.
  size_t SkipDigits() {
    const size_t begin = at_;
    while (IsDigitAt(at_)) ++at_;
    return at_ - begin;
  }

  absl::Status ParseNumber(JsonNode& node) {
    const size_t begin = at_;
    Take('-');
    if (!IsDigitAt(at_)) return Error("expected a value");
    if (text_[at_] == '0' && IsDigitAt(at_ + 1)) {
      return Error("a number with leading zeros");
    }
    size_t digits = SkipDigits();
    bool is_integer = true;
    if (Take('.')) {
      is_integer = false;
      const size_t fraction = SkipDigits();
      if (fraction == 0) return Error("a point without digits after it");
      digits += fraction;
    }
    if (Take('e') || Take('E')) {
      is_integer = false;
      if (!Take('+')) Take('-');
      const size_t exponent = SkipDigits();
      if (exponent == 0) return Error("an exponent without digits");
      digits += exponent;
    }
    if (digits > kMaxJsonNumberDigits) {
      return Error("a longer number than Jackson reads");
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    if (is_integer) {
      PutInteger(text, node);
    } else {
      PutDouble(text, node);
    }
    return absl::OkStatus();
  }

  static void PutInteger(std::string_view text, JsonNode& node) {
    const auto result =
        std::from_chars(text.data(), text.data() + text.size(), node.integer);
    if (result.ec != std::errc()) {
      node.kind = JsonNode::Kind::kBigInteger;
      return;
    }
    const bool is_int = node.integer >= std::numeric_limits<int32_t>::min() &&
                        node.integer <= std::numeric_limits<int32_t>::max();
    node.kind = is_int ? JsonNode::Kind::kInt32 : JsonNode::Kind::kInt64;
  }

  static void PutDouble(std::string_view text, JsonNode& node) {
    node.kind = JsonNode::Kind::kDouble;
    const auto result =
        std::from_chars(text.data(), text.data() + text.size(), node.number);
    if (result.ec == std::errc()) return;
    // Out of range: infinite or zero, which strtod tells apart.
    node.number = std::strtod(std::string(text).c_str(), nullptr);
  }

  std::string_view text_;
  TextArena& arena_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<JsonNode> ParseJson(std::string_view text, TextArena& arena) {
  JsonNode root;
  JsonParser parser(text, arena);
  WALPOST_RETURN_IF_ERROR(parser.ParseValue(0, root));
  return root;
}

}  // namespace walpost::debezium
