#include "debezium/decimal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace walpost::debezium {
namespace {

bool IsDecimalDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view WithoutLeadingZeros(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? "0" : digits.substr(first);
}

Decimal MakeDecimal(bool is_negative, std::string_view digits, int32_t scale) {
  Decimal decimal;
  decimal.digits = WithoutLeadingZeros(digits);
  decimal.is_negative = is_negative && decimal.digits != "0";
  decimal.scale = scale;
  return decimal;
}

// Adds one to the number that the digits are; true: one digit more is needed.
bool Increment(char* digits, size_t count) {
  for (size_t i = count; i-- > 0;) {
    if (digits[i] != '9') {
      ++digits[i];
      return false;
    }
    digits[i] = '0';
  }
  return true;
}

// Big-endian bytes of the magnitude.
std::string MagnitudeBytes(std::string_view digits) {
  std::vector<uint32_t> limbs;  // little-endian, base 2^32
  for (size_t i = 0; i < digits.size();) {
    const size_t count = std::min<size_t>(9, digits.size() - i);
    uint32_t part = 0;
    uint32_t factor = 1;
    for (size_t k = 0; k < count; ++k) {
      part = part * 10 + static_cast<uint32_t>(digits[i + k] - '0');
      factor *= 10;
    }
    uint64_t carry = part;
    for (uint32_t& limb : limbs) {
      carry += static_cast<uint64_t>(limb) * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs.push_back(static_cast<uint32_t>(carry));
    i += count;
  }
  std::string bytes;
  for (size_t i = limbs.size(); i-- > 0;) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes += static_cast<char>(limbs[i] >> shift);
    }
  }
  const size_t first = bytes.find_first_not_of('\0');
  return first == std::string::npos ? std::string(1, '\0')
                                    : bytes.substr(first);
}

}  // namespace

std::optional<Decimal> ParseDecimal(std::string_view text, TextArena& arena) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  int32_t exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != text.npos) {
    std::string_view rest = text.substr(e + 1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    const auto result =
        std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (result.ec != std::errc() || result.ptr != rest.data() + rest.size() ||
        rest.empty()) {
      return std::nullopt;
    }
    text = text.substr(0, e);
  }
  char* digits = arena.Allocate(text.size() + 1);
  size_t count = 0;
  int64_t scale = 0;
  bool has_point = false;
  for (const char c : text) {
    if (c == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (!IsDecimalDigit(c)) return std::nullopt;
    digits[count++] = c;
    if (has_point) ++scale;
  }
  scale -= exponent;
  if (count == 0 || count > kMaxDecimalDigits ||
      std::abs(scale) > static_cast<int64_t>(kMaxDecimalDigits)) {
    return std::nullopt;
  }
  return MakeDecimal(is_negative, {digits, count}, static_cast<int32_t>(scale));
}

std::optional<Decimal> WithScale(const Decimal& decimal, int32_t scale,
                                 Rounding rounding, TextArena& arena) {
  const int64_t added = static_cast<int64_t>(scale) - decimal.scale;
  if (added == 0) return decimal;
  const size_t count = decimal.digits.size();
  if (added > 0) {
    if (added > static_cast<int64_t>(kMaxDecimalDigits)) return std::nullopt;
    char* digits = arena.Allocate(count + static_cast<size_t>(added));
    std::copy(decimal.digits.begin(), decimal.digits.end(), digits);
    std::fill_n(digits + count, added, '0');
    return MakeDecimal(decimal.is_negative,
                       {digits, count + static_cast<size_t>(added)}, scale);
  }
  const auto dropped = static_cast<size_t>(-added);
  const size_t kept = count > dropped ? count - dropped : 0;
  const std::string_view lost = decimal.digits.substr(kept);
  const bool is_exact = lost.find_first_not_of('0') == lost.npos;
  if (!is_exact && rounding == Rounding::kUnnecessary) return std::nullopt;
  char* digits = arena.Allocate(kept + 2);
  digits[0] = '0';
  std::copy_n(decimal.digits.begin(), kept, digits + 1);
  // The first lost digit, if the number has one at that place.
  if (!is_exact && dropped <= count && lost[0] >= '5' &&
      Increment(digits + 1, kept)) {
    digits[0] = '1';
  }
  return MakeDecimal(decimal.is_negative, {digits, kept + 1}, scale);
}

Decimal StripTrailingZeros(const Decimal& decimal) {
  Decimal stripped = decimal;
  if (stripped.digits == "0") {
    stripped.scale = std::min(stripped.scale, 0);
    return stripped;
  }
  while (stripped.scale > 0 && stripped.digits.ends_with('0')) {
    stripped.digits.remove_suffix(1);
    --stripped.scale;
  }
  return stripped;
}

void AppendDecimal(const Decimal& decimal, std::string& out) {
  const auto count = static_cast<int64_t>(decimal.digits.size());
  const int64_t adjusted = count - 1 - decimal.scale;
  if (decimal.scale >= 0 && adjusted >= -6) {
    AppendPlainDecimal(decimal, out);
    return;
  }
  if (decimal.is_negative) out += '-';
  out += decimal.digits[0];
  if (count > 1) {
    out += '.';
    out += decimal.digits.substr(1);
  }
  if (adjusted == 0) return;
  out += adjusted > 0 ? "E+" : "E";
  out += std::to_string(adjusted);
}

void AppendPlainDecimal(const Decimal& decimal, std::string& out) {
  const std::string_view digits = decimal.digits;
  if (decimal.is_negative) out += '-';
  if (decimal.scale <= 0) {
    out += digits;
    if (digits != "0") out.append(static_cast<size_t>(-decimal.scale), '0');
    return;
  }
  const auto scale = static_cast<size_t>(decimal.scale);
  if (digits.size() > scale) {
    out += digits.substr(0, digits.size() - scale);
  } else {
    out += '0';
  }
  out += '.';
  if (digits.size() < scale) out.append(scale - digits.size(), '0');
  out += digits.substr(digits.size() > scale ? digits.size() - scale : 0);
}

double ToDouble(const Decimal& decimal) {
  std::string text;
  if (decimal.is_negative) text += '-';
  text += decimal.digits;
  text += 'e';
  text += std::to_string(-static_cast<int64_t>(decimal.scale));
  return std::strtod(text.c_str(), nullptr);
}

void AppendUnscaledBytes(const Decimal& decimal, std::string& out) {
  std::string bytes = MagnitudeBytes(decimal.digits);
  if (decimal.is_negative) {
    // Two's complement: invert, and add one.
    bool carry = true;
    for (size_t i = bytes.size(); i-- > 0;) {
      auto byte = static_cast<uint8_t>(~static_cast<uint8_t>(bytes[i]));
      if (carry) carry = ++byte == 0;
      bytes[i] = static_cast<char>(byte);
    }
  }
  const bool has_sign_bit = (static_cast<uint8_t>(bytes[0]) & 0x80) != 0;
  if (has_sign_bit != decimal.is_negative) {
    out += decimal.is_negative ? '\xff' : '\0';
  }
  out += bytes;
}

}  // namespace walpost::debezium
