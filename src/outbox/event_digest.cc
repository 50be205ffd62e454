#include "outbox/event_digest.h"

#include <cstddef>
#include <span>

#include "base/sha256.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace walpost {
namespace {

constexpr size_t kShownBytes = 12;
constexpr char kOfId = 'i';

// With lengths in front, no two lists of values have the same text.
void AppendWithLength(std::string& text, const Value& value) {
  text += value ? fmt::format("{} {}", value->size(), *value) : "-";
}

}  // namespace

std::string EventDigest(std::string_view source, const Event& event) {
  std::string text;
  AppendWithLength(text, source);
  AppendWithLength(text, event.id);
  if (!event.id) {
    AppendWithLength(text, event.aggregate_type);
    AppendWithLength(text, event.aggregate_id);
    AppendWithLength(text, event.type);
    AppendWithLength(text, event.payload);
    AppendWithLength(text, event.headers);
  }
  const Sha256Digest digest = Sha256(text);
  return fmt::format("{}{:02x}", event.id ? kOfId : 'f',
                     fmt::join(std::span(digest).first(kShownBytes), ""));
}

bool AreOfDifferentEvents(std::string_view one, std::string_view other) {
  return one.starts_with(kOfId) && other.starts_with(kOfId) && one != other;
}

}  // namespace walpost
