// SimulatedProducer: idempotent and gapless, and fails like librdkafka. If its
// records go one at a time, it is not gapless, and goes on after a rejection.
// To brokers that take records singly it sends one of a key at a time.
//
//   Produce ──▶ queue ──Send──▶ channel ──▶ brokers
//                                  └── answers ──Report──▶ RecordReports
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>

#include "delivery/key_order.h"
#include "delivery/record_sink.h"
#include "sim/delivery_checker.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_store.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedProducer final : public RecordSink, public Committer {
 public:
  // `number` identifies the producer. It has transactions if the brokers'
  // coordinator is used.
  SimulatedProducer(World& world, SimulatedBrokers& brokers,
                    DeliveryChecker& checker, int relay, uint64_t number,
                    bool one_at_a_time);
  // Without an earlier Purge: the process was killed.
  ~SimulatedProducer() override;

  absl::Status Produce(const Record& record, Sequence sequence) override;
  AfterRejection after_rejection() const override;
  // Some windows grow with them.
  size_t partitions() const override {
    return number_ % 2 == 0 ? kPartitions : 0;
  }
  void Withdraw() override;

  // Fences all others.
  void TakeOver();
  void Commit(std::function<void()> on_published, Done done) override;
  bool is_open() const override { return is_open_; }
  // The answer to a commit may arrive, or to an abort.
  void AwaitCommit(RecordReports& reports);

  // Sends a record of a random partition.
  void Send();
  // The answer from a random partition arrives.
  void Report(RecordReports& reports);
  // A fatal error. Requests on their way may still arrive.
  void Fail(RecordReports& reports);
  // Gives up every record that waits for its report.
  void Purge(RecordReports& reports);

  bool has_failed() const { return has_failed_; }
  // True if every record has had its report.
  bool IsIdle() const;

 private:
  static constexpr size_t kMaxOnTheWay = 5;  // max.in.flight, per partition

  // A record that waits for the one before it of its key.
  struct Waiting {
    size_t partition;
    Request request;
  };

  struct Partition {
    std::deque<Request> queue;
    std::shared_ptr<Channel> channel;  // shared with the brokers
  };

  void EndCommit(const absl::Status& status);
  void SendNext(Sequence acknowledged);
  void ReportFrom(Channel& channel, RecordReports& reports);
  void Reject(Channel& channel, Sequence sequence);
  bool HasRecords() const;

  World& world_;
  SimulatedBrokers& brokers_;
  DeliveryChecker& checker_;
  int relay_;
  uint64_t number_;
  bool is_transactional_;
  bool one_at_a_time_;
  bool is_aborting_ = false;
  bool is_open_ = false;                                  // a transaction
  std::shared_ptr<SimulatedCoordinator::Commit> commit_;  // on its way
  Done done_;
  std::array<Partition, kPartitions> partitions_;
  KeyOrder order_;
  std::map<Sequence, KeyOrder::Lane> lanes_;  // of records without a report
  std::map<Sequence, Waiting> waiting_;
  bool has_failed_ = false;
};

}  // namespace walpost::sim
