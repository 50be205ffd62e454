#include "nats/in_flight.h"

#include <algorithm>

namespace walpost {

std::optional<NatsMessage> InFlight::Add(const Record& record,
                                         std::string_view stream,
                                         Sequence sequence, NatsMessage message,
                                         MonotonicTime now) {
  const KeyOrder::Lane lane = KeyOrder::LaneOf(stream, record.key);
  Entry& entry = records_[sequence];
  entry.stream = stream;
  entry.subject = record.topic;
  entry.lane = lane;
  if (!order_.Add(lane, sequence)) {
    entry.message = std::move(message);
    return std::nullopt;
  }
  NoteSent(entry, sequence, now);
  return message;
}

std::optional<InFlight::Taken> InFlight::Take(Sequence sequence) {
  const auto found = records_.find(sequence);
  if (found == records_.end()) return std::nullopt;
  Taken taken = {std::move(found->second.stream),
                 std::move(found->second.subject), found->second.lane,
                 found->second.sent_after};
  records_.erase(found);
  return taken;
}

std::optional<std::pair<Sequence, NatsMessage>> InFlight::Next(
    KeyOrder::Lane lane, MonotonicTime now) {
  const std::optional<Sequence> next = order_.Next(lane);
  if (!next) return std::nullopt;
  Entry& entry = records_.at(*next);
  NoteSent(entry, *next, now);
  std::pair<Sequence, NatsMessage> sending(*next, std::move(*entry.message));
  entry.message.reset();
  return sending;
}

const std::string* InFlight::StreamOf(Sequence sequence) const {
  const auto found = records_.find(sequence);
  return found == records_.end() ? nullptr : &found->second.stream;
}

void InFlight::NoteSent(Entry& entry, Sequence sequence, MonotonicTime now) {
  entry.sent_at = now;
  sent_.emplace_back(now, sequence);
}

void InFlight::OnAnswer(Sequence sequence, MonotonicTime now) {
  const auto found = records_.find(sequence);
  if (found == records_.end()) return;
  answered_at_ = now;
  newest_answered_ = std::max(newest_answered_, found->second.sent_at);
}

bool InFlight::HasSent() {
  while (!sent_.empty() && !records_.contains(sent_.front().second)) {
    sent_.pop_front();
  }
  return !sent_.empty();
}

std::optional<Sequence> InFlight::Late(MonotonicTime now,
                                       std::chrono::milliseconds limit) {
  if (!HasSent()) return std::nullopt;
  const auto& [sent_at, sequence] = sent_.front();
  const bool is_overtaken = sent_at < newest_answered_;
  const bool is_silent = now - answered_at_ >= limit;
  if (now - sent_at < limit || !(is_overtaken || is_silent)) {
    return std::nullopt;
  }
  return sequence;
}

std::optional<Sequence> InFlight::SentTo(std::string_view subject) const {
  for (const auto& [sequence, entry] : records_) {
    if (entry.subject == subject && !entry.message) return sequence;
  }
  return std::nullopt;
}

std::vector<Sequence> InFlight::Sequences() const {
  std::vector<Sequence> sequences;
  for (const auto& [sequence, entry] : records_) sequences.push_back(sequence);
  std::ranges::sort(sequences);
  return sequences;
}

}  // namespace walpost
