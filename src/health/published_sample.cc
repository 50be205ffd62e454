#include "health/published_sample.h"

#include "outbox/event_digest.h"

namespace walpost {
namespace {

std::string ContentOf(const Event& event) {
  Event content = event;
  content.id.reset();
  return EventDigest("", content);
}

}  // namespace

void PublishedSample::Note(const Event& event) {
  size_t& in_pass = in_pass_[event.source];
  if (in_pass == kMaxNewEvents || !event.id) return;
  if (event.payload && event.payload->size() > kMaxPayloadBytes) return;
  ++in_pass;
  Outbox& outbox = outboxes_[event.source];
  ++outbox.taken;
  outbox.entries.push_back({std::string(*event.id), ContentOf(event)});
  if (outbox.entries.size() > kMaxEvents) outbox.entries.pop_front();
}

uint64_t PublishedSample::taken(size_t source) const {
  const auto outbox = outboxes_.find(source);
  return outbox == outboxes_.end() ? 0 : outbox->second.taken;
}

std::vector<std::string> PublishedSample::ids(size_t source) const {
  std::vector<std::string> ids;
  const auto outbox = outboxes_.find(source);
  if (outbox == outboxes_.end()) return ids;
  for (const Entry& entry : outbox->second.entries) ids.push_back(entry.id);
  return ids;
}

bool PublishedSample::Differs(const Event& row) const {
  const auto outbox = outboxes_.find(row.source);
  if (outbox == outboxes_.end() || !row.id) return false;
  bool is_known = false;
  const std::string content = ContentOf(row);
  for (const Entry& entry : outbox->second.entries) {
    if (entry.id != *row.id) continue;
    if (entry.content == content) return false;
    is_known = true;
  }
  return is_known;
}

}  // namespace walpost
