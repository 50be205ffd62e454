#include "redis/stream_tops.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "delivery/gap.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string Escaped(const std::string& name) {
  return absl::StrReplaceAll(name, {{"%", "%25"}, {",", "%2C"}});
}

std::string Unescaped(std::string_view text) {
  return absl::StrReplaceAll({text.data(), text.size()},
                             {{"%25", "%"}, {"%2C", ","}});
}

}  // namespace

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

void StreamTops::OnBehind(std::string_view stream, std::string_view newest) {
  if (!replaced_.empty()) return;
  replaced_ = fmt::format(
      "stream {} has come to {}, and to {} when events were acknowledged: it "
      "was deleted, or Redis has an older copy of it (a backup, or a replica "
      "that lacked its end), and events that were published are not there any "
      "more; {}",
      stream, newest == "0-0" ? "no entry" : newest, NewestOf(stream),
      kSendAgain);
}

const std::string& StreamTops::text() const {
  if (is_spelt_) return text_;
  is_spelt_ = true;
  text_.clear();
  size_t count = 0;
  for (const auto& [stream, top] : tops_) {
    if (count++ == kMaxStored) break;
    text_ += fmt::format("{}{}={}", text_.empty() ? "" : ",", Escaped(stream),
                         top.ToString());
  }
  return text_;
}

void StreamTops::Add(std::string_view text) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = pair.rfind('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const auto top = EntryId::Parse(pair.substr(equals + 1));
    if (top) OnAcknowledged(Unescaped(pair.substr(0, equals)), *top);
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
