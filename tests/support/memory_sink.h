// MemorySink: a Sink without brokers. It keeps a copy of every record that it
// accepted.
//
// Its reports come when the test says so: from Turn, or by hand through the
// functions of whoever gets them.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "delivery/record_sink.h"

namespace walpost::testing {

class MemorySink final : public Sink {
 public:
  static constexpr size_t kMaxRecordBytes = size_t{1} << 20;

  struct Accepted {
    Sequence sequence = 0;
    std::string topic;
    std::optional<std::string> key;
    std::optional<std::string> value;
  };

  // Without `reports` the test reports by hand.
  explicit MemorySink(RecordReports* reports = nullptr) : reports_(reports) {}

  absl::Status Produce(const Record& record, Sequence sequence) override {
    ++offered_;
    if (!answer_.ok()) return answer_;
    if (is_closing_) return absl::ResourceExhaustedError("closed");
    if (!expected_cluster_.empty() && expected_cluster_ != health_.cluster_id) {
      return absl::UnavailableError("another cluster");
    }
    if (record.size_bytes > kMaxRecordBytes) {
      return absl::InvalidArgumentError("too large");
    }
    accepted_.push_back({sequence, std::string(record.topic), Owned(record.key),
                         Owned(record.value)});
    if (reports_ != nullptr) unreported_.push_back(sequence);
    return absl::OkStatus();
  }

  AfterRejection after_rejection() const override { return after_rejection_; }
  size_t partitions() const override { return partitions_; }
  void SetPartitions(size_t partitions) { partitions_ = partitions; }
  void Withdraw() override { ++withdrawn_; }

  void Close(MonotonicTime deadline, std::function<void()> closed) override {
    is_closing_ = true;
    deadline_ = deadline;
    closed_ = std::move(closed);
  }

  SinkHealth Health() override { return health_; }
  // The answer about a topic that the brokers do not know.
  void SetMissingTopic(std::string topic) {
    health_.missing_topic = std::move(topic);
  }
  NamedCounts AcknowledgedByTopic() const override {
    NamedCounts counts;
    for (const Accepted& record : accepted_) counts.Add(record.topic, 1);
    return counts;
  }
  SinkCapabilities capabilities() const override {
    return {.max_record_bytes = kMaxRecordBytes};
  }
  void ExpectCluster(std::string cluster) override {
    expected_cluster_ = std::move(cluster);
  }
  void ExpectTopics() override {}
  SinkTransactions* transactions() override { return transactions_; }
  // It outlives the sink.
  void SetTransactions(SinkTransactions* transactions) {
    transactions_ = transactions;
  }
  bool credentials_have_changed() const override { return false; }

  // Acknowledges what was accepted, unless SetSilent, and goes on closing.
  void Turn(MonotonicTime now) {
    while (!unreported_.empty() && !is_silent_) {
      reports_->OnAcknowledged(TakeUnreported(), WallTime());
    }
    if (!closed_) return;
    if (now < deadline_ && !unreported_.empty()) return;
    while (!unreported_.empty()) {
      reports_->OnNotDelivered(TakeUnreported(), absl::AbortedError("closed"));
    }
    std::exchange(closed_, nullptr)();
  }
  void SetSilent() { is_silent_ = true; }

  void SetAfterRejection(AfterRejection after) { after_rejection_ = after; }
  size_t withdrawn() const { return withdrawn_; }

  // What Produce says from now on.
  void AnswerWith(absl::Status answer) { answer_ = std::move(answer); }

  const std::vector<Accepted>& accepted() const { return accepted_; }
  // How often Produce was called.
  size_t offered() const { return offered_; }

  // The values accepted so far, in order: short to compare.
  std::vector<std::string> Values() const {
    std::vector<std::string> values;
    for (const Accepted& record : accepted_) {
      values.push_back(record.value.value_or("NULL"));
    }
    return values;
  }

 private:
  SinkTransactions* transactions_ = nullptr;
  static std::optional<std::string> Owned(const Value& value) {
    return value ? std::optional(std::string(*value)) : std::nullopt;
  }
  Sequence TakeUnreported() {
    const Sequence sequence = unreported_.front();
    unreported_.pop_front();
    return sequence;
  }

  RecordReports* reports_;
  absl::Status answer_;
  std::vector<Accepted> accepted_;
  size_t offered_ = 0;
  size_t partitions_ = 0;
  AfterRejection after_rejection_ = AfterRejection::kFails;
  size_t withdrawn_ = 0;
  std::deque<Sequence> unreported_;
  bool is_silent_ = false;
  bool is_closing_ = false;
  MonotonicTime deadline_{};
  std::function<void()> closed_;
  std::string expected_cluster_;
  SinkHealth health_{.brokers_up = 1,
                     .heard_at = MonotonicTime(std::chrono::seconds(1)),
                     .trouble = "",
                     .missing_topic = "",
                     .cluster_id = "memory"};
};

}  // namespace walpost::testing
