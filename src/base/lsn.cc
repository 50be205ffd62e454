#include "base/lsn.h"

#include <charconv>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace walpost {
namespace {

bool ParseHalf(std::string_view text, uint32_t& half) {
  if (text.empty() || text.size() > 8) return false;
  const char* end = text.data() + text.size();
  auto [parsed_to, error] = std::from_chars(text.data(), end, half, 16);
  return error == std::errc() && parsed_to == end;
}

}  // namespace

absl::StatusOr<Lsn> Lsn::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  uint32_t high = 0;
  uint32_t low = 0;
  if (slash == std::string_view::npos ||
      !ParseHalf(text.substr(0, slash), high) ||
      !ParseHalf(text.substr(slash + 1), low)) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not an LSN; it looks like 16/B374D848", text));
  }
  return Lsn((uint64_t{high} << 32) | low);
}

std::string Lsn::ToString() const {
  return fmt::format("{:X}/{:X}", value_ >> 32, value_ & 0xFFFFFFFF);
}

}  // namespace walpost
