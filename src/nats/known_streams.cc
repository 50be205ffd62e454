#include "nats/known_streams.h"

#include <algorithm>
#include <utility>

#include "delivery/gap.h"
#include "delivery/topic_text.h"
#include "fmt/format.h"

namespace walpost {

void KnownStreams::Reset(std::string_view text) {
  if (text.empty()) return;
  const auto before = std::exchange(streams_, {});
  replaced_.clear();
  while (!text.empty()) {
    auto [name, created] = TakeTopic(text);
    if (name.empty() || created.empty() || streams_.size() >= kMax) continue;
    Known known{std::string(created)};
    const auto same = before.find(name);
    if (same != before.end() && same->second.created == known.created) {
      known.acknowledged_up_to = same->second.acknowledged_up_to;
    }
    streams_.emplace(std::move(name), std::move(known));
  }
  Spell();
}

std::vector<std::string> KnownStreams::names() const {
  std::vector<std::string> names;
  for (const auto& [name, known] : streams_) names.push_back(name);
  return names;
}

bool KnownStreams::Observe(std::string_view name, std::string_view created) {
  const auto found = streams_.find(name);
  if (found == streams_.end() || found->second.created == created) return true;
  NoteReplaced(fmt::format(
      "stream {} was created at {}, and the one that acknowledged events at "
      "{}: it was deleted and created again",
      name, created, found->second.created));
  return false;
}

void KnownStreams::Redate(std::string_view name, std::string_view created) {
  const auto found = streams_.find(name);
  if (found == streams_.end() || found->second.acknowledged_up_to == 0) return;
  if (found->second.created == created) return;
  found->second.created = created;
  Spell();
}

void KnownStreams::ObserveEnd(std::string_view name, uint64_t last,
                              uint64_t acknowledged, MonotonicTime now) {
  const auto found = streams_.find(name);
  if (found == streams_.end()) return;
  std::optional<MonotonicTime>& since = found->second.behind_since;
  if (last >= acknowledged) return since.reset();
  if (!since) since = now;
  if (now - *since < kMaxBehind) return;
  NoteReplaced(
      fmt::format("stream {} ends at sequence {}, and has acknowledged "
                  "sequence {}: it was restored from a backup, or its servers "
                  "have lost data",
                  name, last, acknowledged));
}

void KnownStreams::ObserveStored(std::string_view name, uint64_t sequence,
                                 uint64_t acknowledged) {
  if (sequence > acknowledged || !Knows(name)) return;
  NoteReplaced(
      fmt::format("stream {} has stored a message at sequence {}, after it had "
                  "acknowledged sequence {}: it was deleted and created again, "
                  "or restored from a "
                  "backup, or its servers have lost data",
                  name, sequence, acknowledged));
}

void KnownStreams::ObserveMissing(std::string_view name,
                                  std::string_view other) {
  if (!Knows(name)) return;
  NoteReplaced(
      fmt::format("stream {}, which has acknowledged events, does not "
                  "exist any more, and stream {} takes its place",
                  name, other));
}

void KnownStreams::OnAcknowledged(std::string_view name,
                                  std::string_view created, uint64_t sequence) {
  auto found = streams_.find(name);
  if (found == streams_.end()) {
    if (streams_.size() >= kMax) return;
    found = streams_.emplace(name, Known{std::string(created)}).first;
    Spell();
  }
  found->second.acknowledged_up_to =
      std::max(found->second.acknowledged_up_to, sequence);
}

uint64_t KnownStreams::AcknowledgedUpTo(std::string_view name) const {
  const auto found = streams_.find(name);
  return found == streams_.end() ? 0 : found->second.acknowledged_up_to;
}

void KnownStreams::Add(const KnownStreams& other) {
  for (const auto& [name, known] : other.streams_) {
    if (Observe(name, known.created)) {
      OnAcknowledged(name, known.created, known.acknowledged_up_to);
    }
  }
  if (replaced_.empty()) replaced_ = other.replaced_;
}

void KnownStreams::Forget() {
  streams_.clear();
  text_.clear();
  replaced_.clear();
}

void KnownStreams::NoteReplaced(std::string text) {
  if (!replaced_.empty()) return;
  replaced_ = fmt::format(
      "{}, and events that were published are not in NATS any more; {}", text,
      kRecover);
}

void KnownStreams::Spell() {
  text_.clear();
  for (const auto& [name, known] : streams_) {
    AppendTopic(name, known.created, text_);
  }
}

}  // namespace walpost
