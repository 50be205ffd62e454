#include "redis/entry_queues.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "redis/resp.h"

namespace walpost {
namespace {

constexpr size_t kFixedArguments = 4;
constexpr size_t kArgumentsPerRecord = 2;

}  // namespace

void EntryQueues::Add(std::string_view stream, Sequence sequence,
                      StreamEntry entry) {
  Queue& queue = QueueOf(stream);
  ++entries_;
  bytes_ += entry.bytes.size();
  queue.waiting.push_back({sequence, std::move(entry)});
  if (std::exchange(queue.is_listed, true)) return;
  active_.push_back(&queue);
}

EntryQueues::Queue& EntryQueues::QueueOf(std::string_view stream) {
  const auto found = queues_.find(stream);
  if (found != queues_.end()) return *found->second;
  if (queues_.size() >= kMaxIdleStreams + active_.size()) DropIdleStreams();
  auto queue = std::make_unique<Queue>();
  queue->stream = stream;
  return *queues_.emplace(stream, std::move(queue)).first->second;
}

void EntryQueues::DropIdleStreams() {
  if (!written_.empty()) return;
  std::erase_if(queues_,
                [](const auto& named) { return !named.second->is_listed; });
}

// The streams take turns: one whose round was full goes to the end.
std::vector<EntryQueues::Batch> EntryQueues::NextRound(MonotonicTime now) {
  std::vector<Batch> round;
  size_t entries = 0;
  size_t bytes = 0;
  const size_t streams = active_.size();
  for (size_t i = 0; i < streams && entries < kMaxRoundEntries; ++i) {
    Queue* queue = active_.front();
    active_.pop_front();
    active_.push_back(queue);
    if (queue->not_before > now) continue;
    Batch batch{queue, 0};
    for (const Queue::Waiting& waiting : queue->waiting) {
      const bool fits = bytes + waiting.entry.bytes.size() <= kMaxRoundBytes;
      if (entries == kMaxRoundEntries || (entries > 0 && !fits)) break;
      ++entries;
      ++batch.count;
      bytes += waiting.entry.bytes.size();
    }
    if (batch.count > 0) round.push_back(batch);
    if (bytes >= kMaxRoundBytes) break;
  }
  return round;
}

size_t EntryQueues::ArgumentsOf(const Batch& batch) {
  size_t arguments = kFixedArguments;
  for (size_t i = 0; i < batch.count; ++i) {
    arguments += kArgumentsPerRecord + batch.queue->waiting[i].entry.arguments;
  }
  return arguments;
}

void EntryQueues::AddArguments(const Batch& batch, const StreamTops& tops,
                               const RedisOptions& options,
                               std::string& bytes) {
  AddArgument(tops.NewestOf(batch.queue->stream), bytes);
  AddArgument(fmt::format("{}", options.max_entries), bytes);
  AddArgument(options.create ? "1" : "0", bytes);
  AddArgument(tops.RepeatedOf(batch.queue->stream), bytes);
  for (size_t i = 0; i < batch.count; ++i) {
    const StreamEntry& entry = batch.queue->waiting[i].entry;
    AddArgument(entry.place ? entry.place->ToString() : "", bytes);
    AddArgument(fmt::format("{}", entry.arguments), bytes);
    bytes += entry.bytes;
  }
}

void EntryQueues::OnResult(const Batch& batch, const BatchResult& result,
                           MonotonicTime retry_at) {
  Queue& queue = *batch.queue;
  Written written{&queue, result.newest, {}};
  for (size_t i = 0; i < std::min(result.done, batch.count); ++i) {
    written.sequences.push_back(queue.waiting.front().sequence);
    PopFirst(queue);
  }
  if (!written.sequences.empty()) written_.push_back(std::move(written));
  queue.not_before = result.error.empty() ? MonotonicTime() : retry_at;
  Unlist(queue);
}

void EntryQueues::PopFirst(Queue& queue) {
  bytes_ -= queue.waiting.front().entry.bytes.size();
  --entries_;
  queue.waiting.pop_front();
}

void EntryQueues::Unlist(Queue& queue) {
  if (!queue.waiting.empty()) return;
  queue.is_listed = false;
  std::erase(active_, &queue);
}

Sequence EntryQueues::TakeFirst(Queue& queue) {
  const Sequence first = queue.waiting.front().sequence;
  PopFirst(queue);
  Unlist(queue);
  return first;
}

std::vector<EntryQueues::Written> EntryQueues::TakeWritten() {
  return std::exchange(written_, {});
}

void EntryQueues::CountAcknowledged(const Written& written) {
  acknowledged_->Add(acknowledged_->PlaceOf(written.queue->stream),
                     written.sequences.size());
}

std::vector<Sequence> EntryQueues::TakeAll() {
  std::vector<Sequence> all;
  for (const Written& written : TakeWritten()) {
    all.insert(all.end(), written.sequences.begin(), written.sequences.end());
  }
  for (Queue* queue : std::exchange(active_, {})) {
    for (const Queue::Waiting& waiting : queue->waiting) {
      all.push_back(waiting.sequence);
    }
    queue->waiting.clear();
    queue->is_listed = false;
  }
  entries_ = bytes_ = 0;
  std::ranges::sort(all);
  return all;
}

MonotonicTime EntryQueues::NextAttempt(MonotonicTime otherwise) const {
  MonotonicTime next = otherwise;
  for (const Queue* queue : active_) next = std::min(next, queue->not_before);
  return next;
}

BatchResult BatchResult::Of(const Reply& reply) {
  constexpr size_t kParts = 5;
  BatchResult result;
  if (reply.size() != kParts) {
    result.error = reply.is_error() ? reply.text() : "ERR unexpected reply";
    return result;
  }
  result.error = reply.text(0);
  result.done = static_cast<size_t>(reply.integer(1));
  result.newest = EntryId::Parse(reply.text(2)).value_or(EntryId());
  result.displaced = reply.integers(3).size();
  result.repeated = reply.text(4);
  return result;
}

}  // namespace walpost
