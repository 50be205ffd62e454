// Decimal: java.math.BigDecimal, as far as the columns of a table need it.
//
//   12.30 = digits "1230", scale 2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "debezium/text_arena.h"

namespace walpost::debezium {

struct Decimal {
  std::string_view digits = "0";  // of the unscaled value; no leading zeros
  bool is_negative = false;       // never with digits "0"
  int32_t scale = 0;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

// Digits with a sign, a point or an exponent; nullopt: anything else, or a
// number that kMaxDecimalDigits cannot hold.
inline constexpr size_t kMaxDecimalDigits = 1 << 20;
std::optional<Decimal> ParseDecimal(std::string_view text, TextArena& arena);

enum class Rounding { kUnnecessary, kHalfUp };
// nullopt: digits would be lost, and the rounding is kUnnecessary.
std::optional<Decimal> WithScale(const Decimal& decimal, int32_t scale,
                                 Rounding rounding, TextArena& arena);

// Without trailing zeros after the point.
Decimal StripTrailingZeros(const Decimal& decimal);

void AppendDecimal(const Decimal& decimal, std::string& out);  // toString
void AppendPlainDecimal(const Decimal& decimal, std::string& out);
double ToDouble(const Decimal& decimal);

// BigInteger.toByteArray of the unscaled value: big-endian two's complement, as
// short as possible.
void AppendUnscaledBytes(const Decimal& decimal, std::string& out);

}  // namespace walpost::debezium
