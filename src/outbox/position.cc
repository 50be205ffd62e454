#include "outbox/position.h"

namespace walpost {
namespace {

void PutHex(char* out, size_t digits, uint64_t value) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (size_t i = digits; i > 0; --i) {
    out[i - 1] = kDigits[value & 0xF];
    value >>= 4;
  }
}

}  // namespace

PositionText::PositionText(uint32_t timeline, const Position& position) {
  char* out = text_.data();
  PutHex(out, 8, timeline);
  out[8] = '-';
  PutHex(out + 9, 16, position.commit_lsn.value());
  out[25] = '-';
  PutHex(out + 26, 16, position.ordinal);
}

}  // namespace walpost
