// RecordsInFlight: the accepted records of a sink, from Produce to the report:
// which may be sent now, which wait for another of their key, and what the
// server says of them.
//
//   Add ─▶ sent ─▶ stored: reported; the next of its key is sent
//             ├──▶ nack: sent again, after a pause
//             └──▶ no queue: rejected, and those that wait behind it fail
//
// A nack, or a message without a queue, stops its own key only: one message of
// a key is on its way at a time, so none overtakes it.
//
// Pure: the sink sends, and reports. Owned by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "base/time.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/key_order.h"
#include "delivery/named_counts.h"
#include "rabbitmq/confirms.h"
#include "rabbitmq/message.h"
#include "rabbitmq/server_events.h"

namespace walpost::rabbitmq {

class RecordsInFlight {
 public:
  struct Report {
    Sequence sequence = 0;
    absl::Status status;  // ok: acknowledged
  };
  using Reports = std::vector<Report>;

  void Add(Sequence sequence, std::string_view topic, KeyOrder::Lane lane,
           Message message);

  // The next message to send now; nullptr: none. Counts as sent at `now`. Valid
  // until the next call.
  const Message* NextToSend(MonotonicTime now);

  // kDataLoss: the server speaks of messages that it was not sent.
  absl::StatusOr<Reports> OnAck(const AckEvent& ack, MonotonicTime now);
  absl::Status OnReturn(const ReturnEvent& event);
  // The server has closed the channel because of a message with so many bytes:
  // which one it was. nullopt: none is like that.
  std::optional<Sequence> FindBySize(size_t body_bytes) const;
  // Gives all of them up.
  Reports TakeAll(const absl::Status& status);
  Reports TakeOne(Sequence sequence, const absl::Status& status);

  bool empty() const { return records_.empty(); }
  size_t size() const { return records_.size(); }
  // Bytes of messages, sent or not: for the limit.
  size_t bytes() const { return bytes_; }

  struct Slow {
    std::string routing_key;
    MonotonicTime since;
  };
  // The message that has waited longest for its confirmation.
  std::optional<Slow> Slowest() const;
  struct Rejected {
    std::string routing_key;
    int times = 0;
  };
  // Returns the message that the server has rejected most often, of those that
  // wait to be sent again.
  std::optional<Rejected> MostRejected() const;

  // Why a new connection is needed; ok: none is. `limit`: for a confirmation.
  // `is_blocked`: the server has an alarm and takes no messages, so that none
  // is late.
  absl::Status Judge(std::chrono::seconds limit, bool is_blocked,
                     MonotonicTime now) const;
  // What is worth a word: a message that the server does not store, or has not
  // confirmed for kSlow. Empty: nothing.
  std::string Trouble(MonotonicTime now) const;

  NamedCounts AcknowledgedByTopic() const { return acknowledged_.counts(); }

 private:
  static constexpr std::chrono::milliseconds kRetryPause{1000};
  static constexpr std::chrono::seconds kSlow{5};
  // Then the same message is sent on a new connection.
  static constexpr int kMaxRejections = 5;

  struct Entry {
    Message message;
    KeyOrder::Lane lane;
    size_t topic = 0;  // its place in acknowledged_
    int rejections = 0;
  };

  void OnStored(Sequence sequence, Reports& reports);
  void OnUnroutable(const Confirms::Settled& settled, Reports& reports);
  // The records of the lane that are not sent, in order.
  void FailBehind(KeyOrder::Lane lane, Reports& reports);
  Entry Take(Sequence sequence);

  absl::btree_map<Sequence, Entry> records_;
  KeyOrder order_;
  Confirms confirms_;
  std::deque<Sequence> to_send_;
  // Those that the server did not store, and when they are sent again.
  std::set<std::pair<MonotonicTime, Sequence>> to_retry_;
  size_t bytes_ = 0;
  NamedCounter acknowledged_;  // by topic
};

}  // namespace walpost::rabbitmq
