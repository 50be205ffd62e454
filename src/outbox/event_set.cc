#include "outbox/event_set.h"

#include <string>

#include "base/sha256.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr size_t kKeptBytes = 16;

// With lengths in front, no two events have the same text.
void Append(std::string& text, const Value& value) {
  if (!value) {
    text += '-';
    return;
  }
  text += fmt::format("{} {}", value->size(), *value);
}

}  // namespace

std::optional<absl::uint128> EventSet::DigestOf(const Event& event) {
  if (!event.id) return std::nullopt;
  std::string text = fmt::format("{} ", event.source);
  Append(text, event.id);
  Append(text, event.aggregate_type);
  Append(text, event.aggregate_id);
  Append(text, event.type);
  Append(text, event.payload);
  Append(text, event.headers);
  for (const Value& value : event.references) Append(text, value);
  const Sha256Digest digest = Sha256(text);
  absl::uint128 number = 0;
  for (size_t i = 0; i < kKeptBytes; ++i) number = number << 8 | digest[i];
  return number;
}

bool EventSet::Add(const Event& event) {
  const std::optional<absl::uint128> digest = DigestOf(event);
  if (!digest || digests_.size() >= kMax) return false;
  digests_.insert(*digest);
  return true;
}

bool EventSet::Has(const Event& event) const {
  if (digests_.empty()) return false;
  const std::optional<absl::uint128> digest = DigestOf(event);
  return digest && digests_.contains(*digest);
}

}  // namespace walpost
