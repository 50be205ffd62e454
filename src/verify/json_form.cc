#include "verify/json_form.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace walpost {
namespace {

using debezium::Converter;

constexpr std::string_view kNull = "null";

std::string Quoted(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

// 0.DIGITS × 10^exponent, without a zero at either end of the digits; without
// digits: 0.
struct Decimal {
  bool is_negative = false;
  std::string digits;
  int64_t exponent = 0;
};

// nullopt: the exponent has too many digits.
std::optional<Decimal> ParseDecimal(std::string_view text) {
  Decimal decimal;
  const size_t end = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, end);
  if (end != std::string_view::npos) {
    std::string_view exponent = text.substr(end + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    constexpr size_t kMaxDigits = 17;
    if (exponent.size() > kMaxDigits) return std::nullopt;
    std::from_chars(exponent.data(), exponent.data() + exponent.size(),
                    decimal.exponent);
  }
  if (mantissa.starts_with('-')) {
    decimal.is_negative = true;
    mantissa.remove_prefix(1);
  }
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  decimal.digits = mantissa.substr(0, point);
  if (point < mantissa.size()) decimal.digits += mantissa.substr(point + 1);
  decimal.exponent += static_cast<int64_t>(point);
  const size_t first = decimal.digits.find_first_not_of('0');
  if (first == std::string::npos) return Decimal();
  decimal.digits.erase(0, first);
  decimal.exponent -= static_cast<int64_t>(first);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  return decimal;
}

// Any longer integer is a double in Java's JSON.
bool IsLong(const Decimal& decimal) {
  constexpr int64_t kDigits = 19;
  if (std::cmp_less(decimal.exponent, decimal.digits.size())) return false;
  if (decimal.exponent > kDigits) return false;
  std::string digits = decimal.digits;
  digits.resize(static_cast<size_t>(decimal.exponent), '0');
  if (decimal.is_negative) digits.insert(0, "-");
  int64_t number = 0;
  return std::from_chars(digits.data(), digits.data() + digits.size(), number)
             .ec == std::errc();
}

std::string FormOfNumber(std::string_view text, bool is_java) {
  const std::optional<Decimal> decimal = ParseDecimal(text);
  if (!decimal) return std::string(text);
  if (decimal->digits.empty()) return "0";
  if (is_java && !IsLong(*decimal)) {
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return fmt::format("{:.17g}", number);
  }
  return fmt::format(
      "{}{}e{}", decimal->is_negative ? "-" : "", decimal->digits,
      decimal->exponent - static_cast<int64_t>(decimal->digits.size()));
}

// Builds the form from the events of rapidjson::Reader. It has a stack of its
// own, so that depth needs no frames. `is_expanded`: numbers are Java's, and
// members that are null or an empty array are left out: Debezium ignores them,
// and gives each object of an array the members of all.
class FormBuilder {
 public:
  explicit FormBuilder(bool is_expanded) : is_expanded_(is_expanded) {}

  bool Null() { return PutOrLeaveOut("null"); }
  bool Bool(bool value) { return Put(value ? "true" : "false"); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    return Put(FormOfNumber({text, size}, is_expanded_));
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    if (stack_.empty()) root_.text.emplace(text, size);
    return Put(Quoted({text, size}));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    stack_.back().name.assign(text, size);
    return true;
  }
  bool StartObject() {
    stack_.emplace_back().is_object = true;
    return true;
  }
  bool EndObject(rapidjson::SizeType /*count*/) {
    std::map<std::string, std::string> members =
        std::move(stack_.back().members);
    stack_.pop_back();
    std::string form = "{";
    for (const auto& [name, member] : members) {
      if (form.size() > 1) form += ',';
      form += Quoted(name) + ':' + member;
    }
    if (stack_.empty()) root_.members = std::move(members);
    return Put(form + '}');
  }
  bool StartArray() {
    stack_.emplace_back();
    return true;
  }
  bool EndArray(rapidjson::SizeType count) {
    std::string form = '[' + stack_.back().elements + ']';
    stack_.pop_back();
    return count == 0 ? PutOrLeaveOut(std::move(form)) : Put(std::move(form));
  }
  // Numbers come as texts.
  bool Int(int /*number*/) { return false; }
  bool Uint(unsigned /*number*/) { return false; }
  bool Int64(int64_t /*number*/) { return false; }
  bool Uint64(uint64_t /*number*/) { return false; }
  bool Double(double /*number*/) { return false; }

  struct Root {
    std::string form;
    std::optional<std::string> text;             // of a string
    std::map<std::string, std::string> members;  // of an object
  };
  Root& root() { return root_; }

 private:
  struct Level {
    bool is_object = false;
    std::string name;  // of the next member
    std::map<std::string, std::string> members;
    std::string elements;
  };

  bool Put(std::string form) {
    if (stack_.empty()) {
      root_.form = std::move(form);
    } else if (Level& level = stack_.back(); level.is_object) {
      level.members[level.name] = std::move(form);
    } else {
      if (!level.elements.empty()) level.elements += ',';
      level.elements += form;
    }
    return true;
  }
  bool PutOrLeaveOut(std::string form) {
    const bool is_member = !stack_.empty() && stack_.back().is_object;
    if (!is_expanded_ || !is_member) return Put(std::move(form));
    stack_.back().members.erase(stack_.back().name);  // an earlier one
    return true;
  }

  bool is_expanded_;
  std::vector<Level> stack_;
  Root root_;
};

// nullopt: it is not JSON.
std::optional<FormBuilder::Root> Parse(std::string_view bytes,
                                       bool is_expanded) {
  constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream stream(bytes.data(), bytes.size());
  rapidjson::Reader reader;
  FormBuilder builder(is_expanded);
  if (reader.Parse<kFlags>(stream, builder).IsError()) return std::nullopt;
  return std::move(builder.root());
}

}  // namespace

JsonForm JsonForm::Of(Converter converter) {
  JsonForm form;
  form.is_converted_ = converter != Converter::kString &&
                       converter != Converter::kBytes &&
                       converter != Converter::kBytesOrString;
  form.has_schema_ = converter == Converter::kJsonSchemas ||
                     converter == Converter::kBytesOrJsonSchemas;
  return form;
}

JsonForm JsonForm::OfKeys(const debezium::Options& options) {
  return Of(options.key_converter);
}

JsonForm JsonForm::OfValues(const debezium::Options& options) {
  JsonForm form = Of(options.value_converter);
  form.empty_is_null_ = options.tombstone_on_empty;
  form.is_expanded_ = options.expand_json;
  return form;
}

std::string JsonForm::Of(std::string_view bytes) const {
  std::string text(bytes);
  for (;;) {
    std::optional<FormBuilder::Root> root = Parse(text, is_expanded_);
    if (!root) return text;
    if (!is_converted_ || !root->text) return std::move(root->form);
    text = *std::move(root->text);
  }
}

std::optional<std::string> JsonForm::OfRow(
    std::optional<std::string_view> text) const {
  if (!text) return std::nullopt;
  const bool is_empty = std::ranges::all_of(
      *text, [](char c) { return static_cast<uint8_t>(c) <= ' '; });
  if (is_empty && empty_is_null_) return std::nullopt;
  return Of(*text);
}

std::optional<std::string> JsonForm::OfRecord(
    std::optional<std::string_view> bytes) const {
  if (!bytes || (is_converted_ && *bytes == kNull)) return std::nullopt;
  if (!has_schema_) return Of(*bytes);
  std::optional<FormBuilder::Root> root = Parse(*bytes, false);
  if (!root || root->members.size() != 2 || !root->members.contains("schema") ||
      !root->members.contains("payload")) {
    return Of(*bytes);
  }
  const std::string& payload = root->members["payload"];
  if (payload == kNull) return std::nullopt;
  return Of(payload);
}

}  // namespace walpost
