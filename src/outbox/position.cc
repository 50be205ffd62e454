#include "outbox/position.h"

#include <charconv>

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

template <typename Number>
bool GetHex(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, 16);
  return error == std::errc() && rest == end;
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

absl::StatusOr<TimelinePosition> ParsePositionText(std::string_view text) {
  TimelinePosition parsed;
  uint64_t lsn = 0;
  if (text.size() == PositionText::kSize && text[8] == '-' && text[25] == '-' &&
      GetHex(text.substr(0, 8), parsed.timeline) &&
      GetHex(text.substr(9, 16), lsn) &&
      GetHex(text.substr(26), parsed.position.ordinal)) {
    parsed.position.commit_lsn = Lsn(lsn);
    return parsed;
  }
  return absl::InvalidArgumentError(
      fmt::format("'{}' is not a position as in walpost-position", text));
}

}  // namespace walpost
