#include "outbox/position.h"

#include "absl/strings/numbers.h"
#include "fmt/format.h"

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

std::string ToString(const Position& position) {
  return fmt::format("{}/{}", position.commit_lsn.ToString(), position.ordinal);
}

absl::StatusOr<Position> ParsePosition(std::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash != std::string_view::npos) {
    const std::string ordinal(text.substr(slash + 1));
    const absl::StatusOr<Lsn> lsn = Lsn::Parse(text.substr(0, slash));
    Position position;
    if (lsn.ok() && absl::SimpleAtoi(ordinal, &position.ordinal) &&
        position.ordinal > 0) {
      position.commit_lsn = *lsn;
      return position;
    }
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a position: it is the LSN of the commit and the number of "
      "the event, as in 0/154F6A8/3 (walpost status shows it)",
      text));
}

PositionText::PositionText(uint32_t timeline, const Position& position) {
  char* out = text_.data();
  PutHex(out, timeline);
  out[8] = '-';
  PutHex(out + 9, position.commit_lsn.value());
  out[25] = '-';
  PutHex(out + 26, position.ordinal);
}

}  // namespace walpost
