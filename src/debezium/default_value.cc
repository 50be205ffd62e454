#include "debezium/default_value.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "debezium/type_oids.h"

namespace walpost::debezium {
namespace {

// What Debezium takes for the value of a function, as the server would print
// it; nullopt: it reads no default of the type.
std::optional<std::string_view> PlaceholderOf(uint32_t type_oid) {
  switch (type_oid) {
    case kBitOid:
      return "00";
    case kVarbitOid:
      return "0";
    case pgoutput::kBoolOid:
      return "false";
    case pgoutput::kBpcharOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kTextOid:
    case kXmlOid:
      return "";
    case kNumericOid:
    case kFloat4Oid:
    case kFloat8Oid:
      return "0.0";
    case pgoutput::kInt2Oid:
    case pgoutput::kInt4Oid:
    case pgoutput::kInt8Oid:
      return "0";
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
      return "{}";
    case pgoutput::kUuidOid:
      return "";  // no uuid
    case kDateOid:
      return "1970-01-01";
    case kTimeOid:
    case kIntervalOid:
      return "00:00:00";
    case pgoutput::kTimestampOid:
      return "1970-01-01 00:00:00";
    case pgoutput::kTimestamptzOid:
      return "1970-01-01 00:00:00+00";
    default:
      return std::nullopt;
  }
}

bool IsIdentifierCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// The call of a function at the begin, also in parentheses.
bool IsFunction(std::string_view expression) {
  if (expression.starts_with('(')) expression.remove_prefix(1);
  const auto open = std::ranges::find_if_not(expression, IsIdentifierCharacter);
  if (open == expression.begin() || open == expression.end() || *open != '(') {
    return false;
  }
  const std::string_view rest(open + 1, expression.end());
  return rest.substr(0, rest.find('\n')).find(')') != rest.npos;
}

bool IsCurrentTime(std::string_view expression) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "current_timestamp", "current_time", "current_date", "localtime",
      "localtimestamp"};
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return std::ranges::equal(name, expression, [](char a, char b) {
      return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
    });
  });
}

// The first constant in quotes, or, without quotes, the whole.
std::optional<std::string> ConstantOf(std::string_view expression) {
  const size_t open = expression.find('\'');
  if (open == expression.npos) {
    if (expression.starts_with("NULL::")) return std::nullopt;
    return std::string(expression);
  }
  std::string constant;
  for (size_t i = open + 1; i < expression.size(); ++i) {
    if (expression[i] == '\'') {
      const bool is_doubled = expression.substr(i + 1).starts_with('\'');
      if (!is_doubled) return constant;
      ++i;
    }
    constant += expression[i];
  }
  return std::nullopt;
}

// 'label'::schema.type; any other expression is no label.
std::optional<std::string> LabelOf(std::string_view expression) {
  const size_t cast = expression.rfind("::");
  if (cast == expression.npos) return std::nullopt;
  expression = expression.substr(0, cast);
  if (expression.size() < 2 || !expression.starts_with('\'') ||
      !expression.ends_with('\'')) {
    return std::nullopt;
  }
  return std::string(expression.substr(1, expression.size() - 2));
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The text that ColumnType reads; nullopt: none.
std::optional<std::string> DefaultTextOf(const Column& column) {
  if (column.element_oid != 0) return std::nullopt;
  if (!column.enum_labels.empty()) return LabelOf(column.default_expression);
  const auto placeholder = PlaceholderOf(column.type_oid);
  if (!placeholder || !column.type_name.empty()) return std::nullopt;
  const std::string_view expression = Trimmed(column.default_expression);
  if (expression.starts_with("NULL::")) return std::nullopt;
  std::optional<std::string> text =
      IsFunction(expression) || IsCurrentTime(expression)
          ? std::string(*placeholder)
          : ConstantOf(expression);
  if (!text) return std::nullopt;
  if (column.type_oid == pgoutput::kUuidOid && text->size() != 36) {
    return std::nullopt;
  }
  if (column.type_oid == pgoutput::kBoolOid) {
    return *text == "true" ? "t" : "f";
  }
  return text;
}

}  // namespace

Value DefaultValueOf(const Column& column, const ColumnType& type,
                     TextArena& arena) {
  if (column.default_expression.empty()) return {};
  const std::optional<std::string> text = DefaultTextOf(column);
  if (!text) return {};
  Value value;
  // A default that cannot be read, or is a struct, is none (KAFKA-12694).
  if (!type.Read(arena.Copy(*text), arena, value).ok()) return {};
  if (std::holds_alternative<Struct>(value)) return {};
  return value;
}

}  // namespace walpost::debezium
