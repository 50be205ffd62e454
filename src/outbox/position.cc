#include "outbox/position.h"

namespace walpost {
namespace {

template <size_t kDigits>
void PutHex(char* out, uint64_t value) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (size_t i = 0; i < kDigits; ++i) {
    out[i] = kHex[(value >> (4 * (kDigits - 1 - i))) & 0xF];
  }
}

}  // namespace

PositionText::PositionText(uint32_t timeline, const Position& position) {
  char* out = text_.data();
  PutHex<8>(out, timeline);
  out[8] = '-';
  PutHex<16>(out + 9, position.commit_lsn.value());
  out[25] = '-';
  PutHex<16>(out + 26, position.ordinal);
}

}  // namespace walpost
