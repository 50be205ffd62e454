// Confirms: which messages of a channel wait for the server's confirmation,
// and what basic.ack, basic.nack and basic.return say about them.
//
//   Add ──▶ tag 1, 2, 3 ...     ack 2, multiple: 1 and 2 are confirmed
//                               return, then ack 3: 3 has reached no queue
//                               nack 4: not stored; it may be sent again
//
// A return names no tag. It is of the oldest message with the same routing key,
// id and body that is not returned yet: a channel handles its messages in their
// order, and the return comes before the confirmation.
//
// Pure. Owned by the sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "delivery/acknowledgement_window.h"

namespace walpost::rabbitmq {

class Confirms {
 public:
  struct Settled {
    Sequence sequence = 0;
    enum class Outcome { kStored, kUnroutable, kRejected } outcome;
    std::string reason = {};  // of kUnroutable, in the server's words
  };

  struct Waiting {
    Sequence sequence = 0;
    MonotonicTime since;
  };

  // A message is sent: the next one of the channel.
  void Add(Sequence sequence, uint64_t identity, MonotonicTime now);

  // kDataLoss: the server confirms what was not sent.
  absl::StatusOr<std::vector<Settled>> OnAck(uint64_t tag, bool is_multiple) {
    return Settle(tag, is_multiple, Settled::Outcome::kStored);
  }
  absl::StatusOr<std::vector<Settled>> OnNack(uint64_t tag, bool is_multiple) {
    return Settle(tag, is_multiple, Settled::Outcome::kRejected);
  }
  // kDataLoss: nothing like it waits.
  absl::Status OnReturn(uint64_t identity, std::string reason);

  size_t size() const { return open_; }
  // The message that has waited longest.
  std::optional<Waiting> oldest() const;
  void Clear();

 private:
  struct Entry {
    Sequence sequence;
    uint64_t identity;
    MonotonicTime since;
    bool is_settled = false;
    std::optional<std::string> returned = {};  // why
  };

  absl::StatusOr<std::vector<Settled>> Settle(uint64_t tag, bool is_multiple,
                                              Settled::Outcome outcome);
  void SettleOne(uint64_t tag, Settled::Outcome outcome,
                 std::vector<Settled>& settled);
  Entry& At(uint64_t tag) { return entries_[tag - first_]; }
  uint64_t end() const { return first_ + entries_.size(); }

  uint64_t first_ = 1;  // tag of the first entry, which is not settled
  std::deque<Entry> entries_;
  size_t open_ = 0;
  // (identity, tag) of those that are neither settled nor returned.
  std::set<std::pair<uint64_t, uint64_t>> by_identity_;
};

}  // namespace walpost::rabbitmq
