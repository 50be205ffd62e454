#include "parking/release_ledger.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/sha256.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "parking/parked_codec.h"

namespace walpost {
namespace {

constexpr size_t kDigestBytes = 12;

// With a length in front, no two events have the same text.
std::string TextOf(const DeadLetter& content) {
  const std::string event = EncodeParked(content);
  return fmt::format("{} {}{}", event.size(), event,
                     content.payload.value_or("-"));
}

}  // namespace

std::string ReleaseLedger::EntryOf(std::string_view place,
                                   const DeadLetter& content) {
  const Sha256Digest digest = Sha256(TextOf(content));
  const auto part = std::span(digest).first(kDigestBytes);
  return fmt::format("{} {:02x}", place, fmt::join(part, ""));
}

absl::Status ReleaseLedger::Load(std::string_view text) {
  entries_.clear();
  known_.clear();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t space = line.find(' ');
    const bool is_entry = space != std::string_view::npos &&
                          line.size() == space + 1 + 2 * kDigestBytes &&
                          line.find(' ', space + 1) == std::string_view::npos;
    if (!is_entry) {
      return absl::DataLossError(
          fmt::format("its line is '{}', and not a place and a digest", line));
    }
    Add(std::string(line));
  }
  return absl::OkStatus();
}

std::string ReleaseLedger::Encode() const {
  return fmt::format("{}", fmt::join(entries_, "\n"));
}

void ReleaseLedger::Add(std::string entry) {
  if (!known_.insert(entry).second) return;
  entries_.push_back(std::move(entry));
  if (entries_.size() <= kMaxEntries) return;
  known_.erase(entries_.front());
  entries_.pop_front();
}

}  // namespace walpost
