#include "outbox/position.h"

namespace walpost {
namespace {

// Eight digits at once: each byte of a word gets its nibble, then its digit.
void PutHex(char* out, uint32_t value) {
  uint64_t word = value;
  word = (word << 16 | word) & 0x0000FFFF0000FFFF;
  word = (word << 8 | word) & 0x00FF00FF00FF00FF;
  word = (word << 4 | word) & 0x0F0F0F0F0F0F0F0F;
  const uint64_t letters =
      ((word + 0x0606060606060606) >> 4) & 0x0101010101010101;
  word += 0x3030303030303030 + letters * ('A' - '0' - 10);
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<char>(word >> (56 - 8 * i));
  }
}

void PutHex(char* out, uint64_t value) {
  PutHex(out, static_cast<uint32_t>(value >> 32));
  PutHex(out + 8, static_cast<uint32_t>(value));
}

}  // namespace

PositionText::PositionText(uint32_t timeline, const Position& position) {
  char* out = text_.data();
  PutHex(out, timeline);
  out[8] = '-';
  PutHex(out + 9, position.commit_lsn.value());
  out[25] = '-';
  PutHex(out + 26, position.ordinal);
}

}  // namespace walpost
