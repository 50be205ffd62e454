// InFlight: the records that a sink has accepted and not yet reported, in the
// order of their keys.
//
//   Add ──▶ send it now, or it waits behind another of its key
//   Take ──▶ the record is reported; Next: the one of its key that may go now
//
// JetStream acknowledges each message by itself: a later one may be stored
// although an earlier one was not. So of each key one is on its way (KeyOrder).
// The order is that of a stream, whatever the subjects: a consumer may read
// several of them.
//
// Pure. Owned by the sink.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/key_order.h"
#include "nats/message.h"

namespace walpost {

class InFlight {
 public:
  struct Taken {
    std::string stream;
    std::string subject;
    KeyOrder::Lane lane;
    // Sequence that the stream had acknowledged when the record was sent.
    uint64_t sent_after = 0;
  };

  // The message, if it may be sent now.
  std::optional<NatsMessage> Add(const Record& record, std::string_view stream,
                                 Sequence sequence, NatsMessage message,
                                 MonotonicTime now);

  // The record of the sequence, which is reported now; nullopt: it has been
  // reported.
  std::optional<Taken> Take(Sequence sequence);
  // The record before it of the lane is stored. The one that may be sent now.
  std::optional<std::pair<Sequence, NatsMessage>> Next(KeyOrder::Lane lane,
                                                       MonotonicTime now);
  const std::string* StreamOf(Sequence sequence) const;

  // The record of the sequence was sent when the stream had acknowledged this.
  void NoteSentAfter(Sequence sequence, uint64_t acknowledged_up_to) {
    records_.at(sequence).sent_after = acknowledged_up_to;
  }
  // The record of the sequence was acknowledged: call it before Take.
  void OnAnswer(Sequence sequence, MonotonicTime now);
  // A record that was sent `limit` ago and has had no answer, although a later
  // one has, or none has come for so long. Those that are behind a slow
  // connection are not late.
  std::optional<Sequence> Late(MonotonicTime now,
                               std::chrono::milliseconds limit);
  // True if a record is on its way.
  bool HasSent();
  // A record to the subject that has been sent.
  std::optional<Sequence> SentTo(std::string_view subject) const;
  // All records, in order.
  std::vector<Sequence> Sequences() const;

  bool empty() const { return records_.empty(); }
  size_t size() const { return records_.size(); }

 private:
  struct Entry {
    std::string stream;
    std::string subject;
    KeyOrder::Lane lane;
    std::optional<NatsMessage> message;  // until it is sent
    uint64_t sent_after = 0;
    MonotonicTime sent_at{};
  };

  void NoteSent(Entry& entry, Sequence sequence, MonotonicTime now);

  absl::flat_hash_map<Sequence, Entry> records_;
  KeyOrder order_;
  std::deque<std::pair<MonotonicTime, Sequence>> sent_;
  MonotonicTime newest_answered_{};  // when it was sent
  MonotonicTime answered_at_{};
};

}  // namespace walpost
