#include "redis/entry_id.h"

#include <charconv>

#include "fmt/format.h"

namespace walpost {
namespace {

bool ParseNumber(std::string_view text, uint64_t& number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<EntryId> EntryId::Of(const Position& position) {
  constexpr uint64_t kMaxOrdinal = uint64_t{1} << (64 - kOrdinalShift);
  if (!position.commit_lsn.is_valid()) return std::nullopt;
  if (position.ordinal >= kMaxOrdinal) return std::nullopt;
  return EntryId{position.commit_lsn.value(),
                 position.ordinal << kOrdinalShift};
}

std::optional<EntryId> EntryId::Parse(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  EntryId id;
  const bool is_id = ParseNumber(text.substr(0, dash), id.milliseconds) &&
                     ParseNumber(text.substr(dash + 1), id.sequence);
  return is_id ? std::optional(id) : std::nullopt;
}

std::string EntryId::ToString() const {
  return fmt::format("{}-{}", milliseconds, sequence);
}

}  // namespace walpost
