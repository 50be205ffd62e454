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
  sent_.emplace_back(now, sequence);
  return message;
}

std::optional<InFlight::Taken> InFlight::Take(Sequence sequence) {
  const auto found = records_.find(sequence);
  if (found == records_.end()) return std::nullopt;
  Taken taken = {std::move(found->second.stream),
                 std::move(found->second.subject), found->second.lane};
  records_.erase(found);
  return taken;
}

std::optional<std::pair<Sequence, NatsMessage>> InFlight::Next(
    KeyOrder::Lane lane, MonotonicTime now) {
  const std::optional<Sequence> next = order_.Next(lane);
  if (!next) return std::nullopt;
  Entry& entry = records_.at(*next);
  sent_.emplace_back(now, *next);
  std::pair<Sequence, NatsMessage> sending(*next, std::move(*entry.message));
  entry.message.reset();
  return sending;
}

const std::string* InFlight::StreamOf(Sequence sequence) const {
  const auto found = records_.find(sequence);
  return found == records_.end() ? nullptr : &found->second.stream;
}

std::optional<Sequence> InFlight::SentBefore(MonotonicTime time) {
  while (!sent_.empty() && !records_.contains(sent_.front().second)) {
    sent_.pop_front();
  }
  if (sent_.empty() || sent_.front().first >= time) return std::nullopt;
  return sent_.front().second;
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
