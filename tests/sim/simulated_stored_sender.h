// SimulatedStoredSender: what the app's StoredEventSender does, a step at a
// time: carries out what a StoredBatch decides, with a Sender and a producer of
// their own, and in transactions if the relay has them.
//
//   Send ──▶ Step, Step, ... ──▶ TakeResult ──▶ the rows are marked ──▶ Send
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "delivery/record_sink.h"
#include "delivery/sender.h"
#include "parking/stored_batch.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_parked_table.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedStoredSender {
 public:
  using Result = StoredBatch::Result;

  // `name`: SimulatedBrokers::StoredSenderName.
  SimulatedStoredSender(World& world, SimulatedBrokers& brokers, int relay,
                        size_t name);
  ~SimulatedStoredSender() { Abandon(); }
  SimulatedStoredSender(const SimulatedStoredSender&) = delete;
  SimulatedStoredSender& operator=(const SimulatedStoredSender&) = delete;

  void Send(SimulatedParkedTable::Rows rows);
  // Until its result is taken.
  bool is_sending() const { return !rows_.empty(); }
  const SimulatedParkedTable::Rows& rows() const { return rows_; }
  size_t max_rows() const { return run_ ? run_->batch.max_rows() : 1'000; }
  // Something happens on the way.
  void Step();
  // nullopt: the batch has not ended. Its rows may be marked now.
  std::optional<Result> TakeResult();
  // The process, or its stream, has ended. What is on its way may still arrive.
  void Abandon();

 private:
  // The producer: takes some records only later, and fails as a whole.
  class Sink final : public RecordSink {
   public:
    explicit Sink(SimulatedStoredSender& owner) : owner_(owner) {}
    absl::Status Produce(const Record& record, Sequence sequence) override;

   private:
    SimulatedStoredSender& owner_;
  };
  // What lives as long as a stream.
  struct Run {
    Run(SimulatedStoredSender& owner, const OutboxOptions& outbox,
        StoredBatch::Options options);

    Sink sink;
    OutboxOptions outbox;
    Sender sender;
    StoredBatch batch;
    uint64_t producer = 0;  // 0: none
  };

  bool has_transactions() const { return brokers_.coordinator().is_used; }
  bool OpenProducer();
  void Advance();
  void Report();
  void AwaitCommit();
  void CloseProducer();

  World& world_;
  SimulatedBrokers& brokers_;
  int relay_;
  size_t name_;
  SimulatedParkedTable::Rows rows_;
  std::unique_ptr<Run> run_;
  std::array<std::shared_ptr<Channel>, kPartitions> channels_;
  std::shared_ptr<SimulatedCoordinator::Commit> commit_;  // on its way
  std::optional<Result> result_;
};

}  // namespace walpost::sim
