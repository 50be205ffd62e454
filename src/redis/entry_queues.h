// EntryQueues: records that wait for Redis, by stream, and the batches that go
// there together.
//
//   Add ──▶ waiting ──NextRound──▶ batch of each stream ──OnResult──▶ written
//              ▲                                      │ an error        │
//              └──────────── again, later ◀───────────┘           TakeWritten
//
// One round is on its way at a time, with at most one batch of a stream: a
// batch ends at its first error, and nothing behind it may be written before.
//
// Pure: the sink sends. Owned by it.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/named_counts.h"
#include "redis/entry_id.h"
#include "redis/options.h"
#include "redis/resp.h"
#include "redis/stream_entry.h"
#include "redis/stream_tops.h"

namespace walpost {

// BatchResult: what append_entries.lua says about a batch. Pure.
struct BatchResult {
  // Errors of the script itself; others are those of Redis.
  static constexpr std::string_view kMissing = "MISSING";
  static constexpr std::string_view kBehind = "BEHIND";

  // A reply that is not one of the script is an error.
  static BatchResult Of(const Reply& reply);

  std::string error;     // empty: all of the batch is in the stream
  size_t done = 0;       // records from the first on that are
  EntryId newest;        // entry of the stream
  size_t displaced = 0;  // records whose place was taken
  std::string repeated;  // for the next batch
};

class EntryQueues {
 public:
  // Maximum of a round, but a record of any size goes alone: a script blocks
  // the server for as long as it runs.
  static constexpr size_t kMaxRoundEntries = 1'000;
  static constexpr size_t kMaxRoundBytes = size_t{1} << 20;
  // Maximum that waits; the window of the sender is smaller by default.
  static constexpr size_t kMaxEntries = 100'000;
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  // Streams without records that are remembered.
  static constexpr size_t kMaxIdleStreams = 10'000;

  struct Queue {
    struct Waiting {
      Sequence sequence;
      StreamEntry entry;
    };

    std::string stream;
    std::deque<Waiting> waiting;
    MonotonicTime not_before{};
    absl::Status refused;    // why the first record was
    bool is_listed = false;  // in active_
  };

  struct Batch {
    Queue* queue;
    size_t count;
  };

  struct Written {
    Queue* queue;
    EntryId newest;
    std::vector<Sequence> sequences;
  };

  // `acknowledged`: counts the records that were, by stream.
  explicit EntryQueues(std::shared_ptr<NamedCounter> acknowledged =
                           std::make_shared<NamedCounter>())
      : acknowledged_(std::move(acknowledged)) {}

  bool HasRoom() const { return entries_ < kMaxEntries && bytes_ < kMaxBytes; }
  void Add(std::string_view stream, Sequence sequence, StreamEntry entry);

  // Batches of streams that are not paused. Valid until their results.
  std::vector<Batch> NextRound(MonotonicTime now);
  // Appends the arguments of the script for a batch, of which it has
  // ArgumentsOf.
  static size_t ArgumentsOf(const Batch& batch);
  static void AddArguments(const Batch& batch, const StreamTops& tops,
                           const RedisOptions& options, std::string& bytes);

  // Takes the written records out. If it has an error, the stream is tried
  // again after `pause`.
  void OnResult(const Batch& batch, const BatchResult& result,
                MonotonicTime retry_at);
  // The stream is not paused any more.
  static void RetryNow(Queue& queue) { queue.not_before = MonotonicTime(); }
  // Takes out the first record that waits, which cannot be written.
  Sequence TakeFirst(Queue& queue);
  // What was written since.
  bool has_written() const { return !written_.empty(); }
  std::vector<Written> TakeWritten();
  void CountAcknowledged(const Written& written);

  // All records that were not acknowledged; nothing waits any more.
  std::vector<Sequence> TakeAll();

  // Nothing waits, and nothing is written that was not taken.
  bool empty() const { return entries_ == 0 && written_.empty(); }
  // When the next stream that is paused may be tried again.
  MonotonicTime NextAttempt(MonotonicTime otherwise) const;
  NamedCounts Acknowledged() const { return acknowledged_->counts(); }

 private:
  Queue& QueueOf(std::string_view stream);
  void DropIdleStreams();
  void PopFirst(Queue& queue);
  void Unlist(Queue& queue);

  std::map<std::string, std::unique_ptr<Queue>, std::less<>> queues_;
  std::deque<Queue*> active_;  // those with records
  std::vector<Written> written_;
  size_t entries_ = 0;
  size_t bytes_ = 0;
  std::shared_ptr<NamedCounter> acknowledged_;
};

}  // namespace walpost
