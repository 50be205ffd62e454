#include "outbox/json_object.h"

#include "fmt/format.h"
#include "rapidjson/error/en.h"

namespace walpost {
namespace {

using Stream = rapidjson::InsituStringStream;

// Collects the members of the outermost object. Of a nested value it only
// notes where it begins and ends. The parser calls Start... and End... before
// it takes the bracket, so Tell() is the bracket's own offset.
class MemberCollector {
 public:
  MemberCollector(std::string_view text, Stream& stream,
                  std::vector<JsonObject::Member>& members)
      : text_(text), stream_(stream), members_(members) {}

  bool Null() { return Put(std::nullopt); }
  bool Bool(bool value) {
    return Put(value ? std::string_view("true") : std::string_view("false"));
  }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    return Put(std::string_view(text, length));
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

  // Numbers come as RawNumber.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  // False ends the parse: a bare value is no object.
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
  Stream stream(scratch_.data());
  MemberCollector collector(text, stream, members_);
  constexpr unsigned kFlags =
      rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag |
      rapidjson::kParseNumbersAsStringsFlag |
      rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult result =
      reader_.Parse<kFlags>(stream, collector);
  if (!result.IsError()) return absl::OkStatus();
  members_.clear();
  if (result.Code() == rapidjson::kParseErrorTermination) {
    return absl::InvalidArgumentError("it is JSON, but not an object");
  }
  return absl::InvalidArgumentError(
      fmt::format("not JSON: {} (at byte {})",
                  rapidjson::GetParseError_En(result.Code()),
                  result.Offset()));
}

const Value* JsonObject::Find(std::string_view name) const {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

}  // namespace walpost
