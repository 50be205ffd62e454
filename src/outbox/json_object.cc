#include "outbox/json_object.h"

#include <algorithm>

#include "fmt/format.h"
#include "rapidjson/error/en.h"

namespace walpost {
namespace {

using Stream = rapidjson::InsituStringStream;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Makes every number in the JSON text `text` small, without changing its length
// or grammar: exponents become zeros, mantissas too long for any double become
// d.000... The parser rejects numbers that no double can hold, even if it
// returns them as text.
void ShrinkNumbers(std::string& text) {
  constexpr size_t kMaxMantissaDigits = 300;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') ++i;
    if (in_string || !IsDigit(text[i])) continue;
    const size_t begin = i;
    while (IsDigit(text[i]) || text[i] == '.') ++i;
    if (i - begin > kMaxMantissaDigits && text[begin] != '0') {
      std::fill(&text[begin + 1], &text[i], '0');
      text[begin + 1] = '.';
    }
    if (text[i] == 'e' || text[i] == 'E') {
      if (text[i + 1] == '+' || text[i + 1] == '-') ++i;
      while (IsDigit(text[i + 1])) text[++i] = '0';
    } else {
      --i;
    }
  }
}

// Collects the members of the outermost object. For a nested value it only
// notes the begin and the end. The parser calls Start... and End... before it
// consumes the bracket, so Tell() is the bracket's own offset.
class MemberCollector {
 public:
  // The stream reads `scratch`, which began as a copy of `text`.
  MemberCollector(std::string_view text, const std::string& scratch,
                  Stream& stream, std::vector<JsonObject::Member>& members)
      : text_(text), scratch_(scratch), stream_(stream), members_(members) {}

  bool Null() { return Put(std::nullopt); }
  bool Bool(bool value) {
    return Put(value ? std::string_view("true") : std::string_view("false"));
  }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    const auto offset = static_cast<size_t>(text - scratch_.data());
    return Put(text_.substr(offset, length));
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return Put(std::string_view(text, length));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    if (depth_ == 1) name_ = std::string_view(text, length);
    return true;
  }
  bool StartObject() { return Open(); }
  bool StartArray() { return depth_ > 0 && Open(); }
  bool EndObject(rapidjson::SizeType) { return Close(); }
  bool EndArray(rapidjson::SizeType) { return Close(); }

  // Numbers arrive as RawNumber.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  // False stops the parse: a bare value is not an object.
  bool Put(Value value) {
    if (depth_ == 1) members_.emplace_back(name_, value);
    return depth_ > 0;
  }

  bool Open() {
    if (++depth_ == 2) nested_from_ = stream_.Tell();
    return true;
  }

  bool Close() {
    if (--depth_ == 1) {
      members_.emplace_back(
          name_, text_.substr(nested_from_, stream_.Tell() + 1 - nested_from_));
    }
    return true;
  }

  std::string_view text_;
  const std::string& scratch_;
  Stream& stream_;
  std::vector<JsonObject::Member>& members_;
  std::string_view name_;
  size_t depth_ = 0;
  size_t nested_from_ = 0;
};

}  // namespace

absl::Status JsonObject::Parse(std::string_view text) {
  members_.clear();
  if (text.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("not JSON: it holds a NUL byte");
  }
  scratch_.assign(text);
  rapidjson::ParseResult result = ParseScratch(text);
  if (result.Code() == rapidjson::kParseErrorNumberTooBig) {
    scratch_.assign(text);
    ShrinkNumbers(scratch_);
    result = ParseScratch(text);
  }
  if (!result.IsError()) return absl::OkStatus();
  members_.clear();
  if (result.Code() == rapidjson::kParseErrorTermination) {
    return absl::InvalidArgumentError("it is JSON, but not an object");
  }
  return absl::InvalidArgumentError(
      fmt::format("not JSON: {} (at byte {})",
                  rapidjson::GetParseError_En(result.Code()), result.Offset()));
}

rapidjson::ParseResult JsonObject::ParseScratch(std::string_view text) {
  members_.clear();
  Stream stream(scratch_.data());
  MemberCollector collector(text, scratch_, stream, members_);
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag |
                              rapidjson::kParseIterativeFlag |
                              rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseValidateEncodingFlag;
  return reader_.Parse<kFlags>(stream, collector);
}

const Value* JsonObject::Find(std::string_view name) const {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

}  // namespace walpost
