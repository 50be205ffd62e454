// RecordSender: builds the record of an event, offers it to the sink, and
// judges what becomes of an event that was not sent. The same for every source.
//
//   event ──▶ RecordBuilder ──▶ RecordSink ──▶ SendOutcome
//
// Owned by the Sender (sources with an order) and by the PollingSender (polled
// rows), which keep track of the records in flight. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "delivery/delivery_counters.h"
#include "delivery/delivery_latencies.h"
#include "delivery/record_sink.h"
#include "delivery/send_outcome.h"
#include "outbox/event.h"
#include "outbox/record_builder.h"

namespace walpost {

// What to set so that a dead letter fits that `error` says is too large; empty:
// it is another error.
std::string_view IfLetterIsTooLarge(const absl::Status& error);

// An error that has both `reason`, why the event cannot be delivered, and
// `error`, why its dead letter cannot.
absl::Status WithoutDeadLetter(const absl::Status& reason,
                               const absl::Status& error);

class RecordSender {
 public:
  struct Outcome {
    SendOutcome verdict = SendOutcome::kRefuse;
    absl::Status reason;      // why it was not sent
    size_t record_bytes = 0;  // of the record sent
    LatencyLabel label;       // likewise
  };

  // `counters` belong to its owner.
  RecordSender(std::unique_ptr<RecordBuilder> builder, Ordering ordering,
               DeliveryCounters& counters)
      : builder_(std::move(builder)),
        ordering_(ordering),
        counters_(counters),
        sent_by_source_(builder_->routes().size()),
        latencies_(builder_->routes()) {}
  RecordSender(const RecordSender&) = delete;
  RecordSender& operator=(const RecordSender&) = delete;

  // Sink to produce to; nullptr: none. The sink must outlive its use.
  void SetSink(RecordSink* sink) { sink_ = sink; }
  bool has_sink() const { return sink_ != nullptr; }
  RecordSink* sink() const { return sink_; }
  // Timeline of the server, for the position header.
  void SetTimeline(uint32_t timeline) { timeline_ = timeline; }
  const RecordBuilder& builder() const { return *builder_; }
  // Records that were sent, without dead letters, by Event::source.
  const std::vector<uint64_t>& sent_by_source() const {
    return sent_by_source_;
  }
  // Its owner, which knows when a record is acknowledged, records them by the
  // label of the outcome.
  DeliveryLatencies& latencies() { return latencies_; }
  const DeliveryLatencies& latencies() const { return latencies_; }

  // Requires a sink. If the verdict is kSent, the sink will report `sequence`.
  Outcome Send(const Event& event, Sequence sequence);
  // Sends the dead letter of an event that cannot go out for `reason`. If that
  // cannot go out either, the error says both.
  Outcome SendDeadLetter(const Event& event, const absl::Status& reason,
                         Sequence sequence);
  // The outcome for an event that has no record, or whose record was not
  // delivered.
  Outcome Judge(absl::Status reason) const;

 private:
  Outcome Produce(const absl::StatusOr<Record>& record, size_t source,
                  Sequence sequence);

  std::unique_ptr<RecordBuilder> builder_;
  const Ordering ordering_;
  DeliveryCounters& counters_;
  std::vector<uint64_t> sent_by_source_;
  DeliveryLatencies latencies_;
  RecordSink* sink_ = nullptr;
  uint32_t timeline_ = 0;
};

}  // namespace walpost
