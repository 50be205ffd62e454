#include "redis/stream_tops.h"

#include <algorithm>

#include "delivery/gap.h"
#include "delivery/topic_text.h"
#include "fmt/format.h"

namespace walpost {
std::string StreamTops::NewestOf(std::string_view stream) const {
  const auto found = tops_.find(stream);
  return found == tops_.end() ? "" : found->second.ToString();
}

void StreamTops::OnAcknowledged(std::string_view stream, EntryId newest) {
  auto found = tops_.find(stream);
  if (found == tops_.end()) {
    if (tops_.size() >= kMax) return;
    found = tops_.emplace(stream, EntryId()).first;
  }
  found->second = std::max(found->second, newest);
  is_spelt_ = false;
}

std::string StreamTops::RepeatedOf(std::string_view stream) const {
  const auto found = repeated_.find(stream);
  return found == repeated_.end() ? "" : found->second;
}

void StreamTops::SetRepeated(std::string_view stream, std::string_view id) {
  if (id.empty() || repeated_.size() >= kMax) return;
  repeated_.insert_or_assign(std::string(stream), std::string(id));
}

bool StreamTops::IsFirstDisplacement(std::string_view stream) {
  return displaced_.size() < kMax && displaced_.emplace(stream).second;
}

void StreamTops::OnBehind(std::string_view stream, std::string_view newest) {
  if (!replaced_.empty()) return;
  replaced_ = fmt::format(
      "stream {} has come to {}, and to {} when events were acknowledged: it "
      "was deleted, or Redis has an older copy of it (a backup, or a replica "
      "that lacked its end), and events that were published are not there any "
      "more; {}",
      stream, newest == "0-0" ? "no entry" : newest, NewestOf(stream),
      kRecover);
}

const std::string& StreamTops::text() const {
  if (is_spelt_) return text_;
  is_spelt_ = true;
  text_.clear();
  size_t count = 0;
  for (const auto& [stream, top] : tops_) {
    if (count++ == kMaxStored) break;
    AppendTopic(stream, top.ToString(), text_);
  }
  return text_;
}

void StreamTops::Add(std::string_view text) {
  while (!text.empty()) {
    const auto [stream, id] = TakeTopic(text);
    const auto top = EntryId::Parse(id);
    if (top && !stream.empty()) OnAcknowledged(stream, *top);
  }
}

void StreamTops::Add(const StreamTops& other, std::string_view stream) {
  const auto found = other.tops_.find(stream);
  if (found != other.tops_.end()) OnAcknowledged(stream, found->second);
  if (replaced_.empty()) replaced_ = other.replaced_;
}

std::vector<std::string> StreamTops::Streams() const {
  std::vector<std::string> streams;
  for (const auto& [stream, top] : tops_) {
    if (streams.size() == kMaxStored) break;
    streams.push_back(stream);
  }
  return streams;
}

void StreamTops::Forget() {
  tops_.clear();
  repeated_.clear();
  replaced_.clear();
  is_spelt_ = false;
}

}  // namespace walpost
