#include "debezium/base64.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace walpost::debezium {
namespace {

constexpr char kStandardDigits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kUrlSafeDigits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

void AppendBase64(std::string_view bytes, Base64Alphabet alphabet,
                  std::string& out) {
  const char* digits =
      alphabet == Base64Alphabet::kStandard ? kStandardDigits : kUrlSafeDigits;
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 |
              (k < count ? static_cast<uint8_t>(bytes[i + k]) : uint32_t{0});
    }
    out += digits[group >> 18];
    out += digits[group >> 12 & 63];
    out += count > 1 ? digits[group >> 6 & 63] : '=';
    out += count > 2 ? digits[group & 63] : '=';
  }
}

}  // namespace walpost::debezium
