// Brokers that keep what was written, and an idempotent, gapless producer to
// them that fails as librdkafka's does.
#pragma once

#include <cstdlib>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "delivery/record_sink.h"
#include "support/random_seed.h"

namespace walpost::testing {

// The partitions, and what is in them: numbers of events.
class SimulatedBrokers {
 public:
  static constexpr size_t kPartitions = 3;

  struct Written {
    int key;
    uint64_t event;
  };

  void Append(size_t partition, Written record) {
    partitions_[partition].push_back(record);
    events_.insert(record.event);
  }

  const std::vector<Written>& partition(size_t i) const {
    return partitions_[i];
  }
  bool Has(uint64_t event) const { return events_.contains(event); }

 private:
  std::vector<Written> partitions_[kPartitions];
  std::set<uint64_t> events_;
};

class SimulatedProducer final : public RecordSink {
 public:
  SimulatedProducer(SimulatedBrokers& brokers, Random& random)
      : brokers_(brokers), random_(random) {}

  absl::Status Produce(const Record& record, Sequence sequence) override {
    if (has_failed_) return absl::AbortedError("fatal");
    if (random_.OneIn(40)) return absl::ResourceExhaustedError("full");
    if (random_.OneIn(40)) return absl::UnavailableError("unknown topic");
    const int key = std::atoi(std::string(*record.key).c_str());
    const uint64_t event =
        std::strtoull(std::string(*record.value).c_str(), nullptr, 10);
    produced_.push_back(event);
    queues_[static_cast<size_t>(key) % kPartitions].push_back(
        {sequence, {key, event}, false});
    return absl::OkStatus();
  }

  // The event that the brokers refuse, if they ever see it.
  void Refuse(uint64_t event) { refused_ = event; }

  // A request to a random partition arrives: its next record is written.
  void WriteOne(RecordReports& reports) {
    const size_t partition = random_.Below(kPartitions);
    for (Queued& queued : queues_[partition]) {
      if (queued.is_written) continue;
      if (queued.record.event == refused_) {
        has_failed_ = true;
        reports.OnNotDelivered(queued.sequence,
                               absl::InvalidArgumentError("refused"));
        return;
      }
      brokers_.Append(partition, queued.record);
      queued.is_written = true;
      return;
    }
  }

  // The answer of a random partition arrives. Gives the event that was
  // acknowledged, or UINT64_MAX.
  uint64_t AcknowledgeOne(RecordReports& reports) {
    std::deque<Queued>& queue = queues_[random_.Below(kPartitions)];
    if (queue.empty() || !queue.front().is_written) return UINT64_MAX;
    const Queued acknowledged = queue.front();
    queue.pop_front();
    reports.OnAcknowledged(acknowledged.sequence, WallTime());
    return acknowledged.record.event;
  }

  // A fatal error. What is in flight may still arrive.
  void Fail(RecordReports& reports) {
    has_failed_ = true;
    const std::deque<Queued>& queue = queues_[random_.Below(kPartitions)];
    if (queue.empty() || random_.OneIn(2)) {
      reports.OnSinkFailed(absl::AbortedError("fatal"));
    } else {
      reports.OnNotDelivered(queue.back().sequence,
                             absl::AbortedError("gapless"));
    }
  }

  // Drained before it is thrown away: every record has its report. Some were
  // written, and nobody knows.
  void Purge(RecordReports& reports) {
    for (std::deque<Queued>& queue : queues_) {
      for (const Queued& queued : queue) {
        reports.OnNotDelivered(queued.sequence, absl::AbortedError("purged"));
      }
      queue.clear();
    }
  }

  bool has_failed() const { return has_failed_; }
  bool is_idle() const {
    for (const std::deque<Queued>& queue : queues_) {
      if (!queue.empty()) return false;
    }
    return true;
  }

  // The events that were produced since the last call.
  std::vector<uint64_t> TakeProduced() { return std::exchange(produced_, {}); }

 private:
  static constexpr size_t kPartitions = SimulatedBrokers::kPartitions;

  struct Queued {
    Sequence sequence;
    SimulatedBrokers::Written record;
    bool is_written;
  };

  SimulatedBrokers& brokers_;
  Random& random_;
  std::deque<Queued> queues_[kPartitions];
  std::vector<uint64_t> produced_;
  uint64_t refused_ = UINT64_MAX;
  bool has_failed_ = false;
};

}  // namespace walpost::testing
