#include "outbox/events_on_record.h"

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "outbox/event_digest.h"

namespace walpost {
namespace {

constexpr std::array<std::string_view, kFates> kNames = {
    "skipped", "discarded", "dead_letter", "parked"};

bool Agrees(const EventsOnRecord::Entry& entry, const Event& event) {
  if (!entry.content) return true;
  const EventsOnRecord::Content& content = *entry.content;
  const Value key = content.aggregate_id;
  const std::string_view payload = event.payload.value_or("");
  return key == event.aggregate_id && content.payload_bytes == payload.size() &&
         (!content.payload || *content.payload == Sha256(payload));
}

}  // namespace

std::string_view ToString(Disposition fate) {
  return kNames[static_cast<size_t>(fate)];
}

void EventsOnRecord::Add(Entry entry) {
  entries_[entry.digest].push_back(std::move(entry));
}

std::optional<Disposition> EventsOnRecord::Find(const Event& row) {
  if (entries_.empty()) return std::nullopt;
  const auto found = entries_.find(EventDigest(sources_[row.source], row));
  if (found == entries_.end()) return std::nullopt;
  std::vector<Entry>& entries = found->second;
  const auto entry = std::ranges::find_if(
      entries.rbegin(), entries.rend(),
      [&row](const Entry& each) { return Agrees(each, row); });
  if (entry == entries.rend()) return std::nullopt;
  const Disposition fate = entry->fate;
  if (!row.id) entries.erase(std::next(entry).base());
  return fate;
}

std::optional<Disposition> EventsOnRecord::FindInWal(const Event& event) const {
  if (entries_.empty()) return std::nullopt;
  const auto found = entries_.find(EventDigest(sources_[event.source], event));
  if (found == entries_.end()) return std::nullopt;
  for (auto entry = found->second.rbegin(); entry != found->second.rend();
       ++entry) {
    if (entry->commit == event.position.commit_lsn && Agrees(*entry, event)) {
      return entry->fate;
    }
  }
  return std::nullopt;
}

uint64_t DispositionCounts::sum() const {
  return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

std::string DispositionCounts::ToText() const {
  std::string text;
  for (size_t i = 0; i < kFates; ++i) {
    if (counts_[i] == 0) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", counts_[i], kNames[i]);
  }
  return text;
}

}  // namespace walpost
