#include "outbox/pending_events.h"

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "outbox/event_set.h"

namespace walpost {
namespace {

constexpr size_t kMaxInText = 3;
constexpr size_t kMaxNames = 1'000;

}  // namespace

void PendingEvents::Add(const Event& event) {
  std::optional<absl::uint128> digest = EventSet::DigestOf(event);
  if (digests_.size() >= EventSet::kMax) digest.reset();
  if (digest) {
    digests_.insert(*digest);
  } else {
    ++unrecognisable_;
  }
  if (names_.size() >= kMaxNames) return;
  names_.emplace_back(digest,
                      fmt::format("id {} at {}", event.id.value_or("(none)"),
                                  ToString(event.position)));
}

void PendingEvents::Remove(const Event& row) {
  if (const auto digest = EventSet::DigestOf(row)) digests_.erase(*digest);
}

std::string PendingEvents::ToText() const {
  std::vector<std::string> left;
  for (const auto& [digest, name] : names_) {
    if (left.size() >= kMaxInText) break;
    if (!digest || digests_.contains(*digest)) left.push_back(name);
  }
  return fmt::format("{}{}", absl::StrJoin(left, ", "),
                     size() > kMaxInText ? ", ..." : "");
}

}  // namespace walpost
