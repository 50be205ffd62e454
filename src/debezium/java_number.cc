#include "debezium/java_number.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace walpost::debezium {
namespace {

struct ShortestDigits {
  char digits[24];
  int count = 0;
  int exponent = 0;  // of the first digit
};

// `text` is d.ddde+XX or de+XX.
ShortestDigits SplitScientific(std::string_view text) {
  ShortestDigits split;
  const size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') split.digits[split.count++] = c;
  }
  split.exponent = std::atoi(text.data() + e + 1);
  while (split.count > 1 && split.digits[split.count - 1] == '0') {
    --split.count;
  }
  return split;
}

template <typename Number>
ShortestDigits ShortestDigitsOf(Number magnitude) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer) - 1,
                                    magnitude, std::chars_format::scientific);
  *result.ptr = '\0';
  const std::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  if (text[1] == '.') return SplitScientific(text);
  // One digit is enough: Java prints the nearest number of two.
  const int length = std::snprintf(buffer, sizeof(buffer), "%.1e",
                                   static_cast<double>(magnitude));
  return SplitScientific({buffer, static_cast<size_t>(length)});
}

void AppendPlain(const ShortestDigits& shortest, std::string& out) {
  const int before_point = shortest.exponent + 1;
  if (before_point <= 0) {
    out += "0.";
    out.append(static_cast<size_t>(-before_point), '0');
    out.append(shortest.digits, static_cast<size_t>(shortest.count));
    return;
  }
  for (int i = 0; i < before_point; ++i) {
    out += i < shortest.count ? shortest.digits[i] : '0';
  }
  out += '.';
  if (shortest.count <= before_point) {
    out += '0';
    return;
  }
  out.append(shortest.digits + before_point,
             static_cast<size_t>(shortest.count - before_point));
}

template <typename Number>
void AppendJavaNumber(Number value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::signbit(value)) out += '-';
  const Number magnitude = std::abs(value);
  if (std::isinf(magnitude)) {
    out += "Infinity";
    return;
  }
  if (magnitude == 0) {
    out += "0.0";
    return;
  }
  const ShortestDigits shortest = ShortestDigitsOf(magnitude);
  if (shortest.exponent >= -3 && shortest.exponent < 7) {
    AppendPlain(shortest, out);
    return;
  }
  out += shortest.digits[0];
  out += '.';
  if (shortest.count == 1) out += '0';
  out.append(shortest.digits + 1, static_cast<size_t>(shortest.count - 1));
  out += 'E';
  out += std::to_string(shortest.exponent);
}

}  // namespace

void AppendJavaDouble(double value, std::string& out) {
  AppendJavaNumber(value, out);
}

void AppendJavaFloat(float value, std::string& out) {
  AppendJavaNumber(value, out);
}

}  // namespace walpost::debezium
